// The site itself: it says what was asked for.
function answer(request) {
  const { pathname, search } = new URL(request.url);
  const body = request.method === "HEAD" ? null : `site: ${request.method} ${pathname}${search}`;
  return new Response(body, { headers: { "X-Site": "yes", "Content-Type": "text/html" } });
}

export { answer as GET, answer as HEAD, answer as POST, answer as PUT, answer as DELETE, answer as OPTIONS };
