// Tries every way for a page to reach an address that it can reach only by bypassing the proxy.
async (host, port, milliseconds) => {
  const there = `${host}:${port}`;
  const tried = [
    () => fetch(`http://${there}/fetch`, { mode: "no-cors" }),
    () => navigator.sendBeacon(`http://${there}/beacon`, "x"),
    () => new WebSocket(`ws://${there}/socket`),
    () => new EventSource(`http://${there}/events`),
    () => (new Image().src = `http://${there}/image`),
    () => new Worker(URL.createObjectURL(new Blob([`fetch("http://${there}/worker", { mode: "no-cors" })`]))),
    () => {
      const add = (tag, attributes) => document.head.append(Object.assign(document.createElement(tag), attributes));
      add("link", { rel: "preconnect", href: `http://${there}/` });
      add("link", { rel: "prefetch", href: `http://${there}/prefetch` });
      add("link", { rel: "stylesheet", href: `http://${there}/style` });
      add("script", { src: `http://${there}/script` });
      document.body.append(Object.assign(document.createElement("iframe"), { src: `http://${there}/frame` }));
    },
    async () => {
      const urls = [`stun:${there}`, `turn:${there}?transport=udp`, `turn:${there}?transport=tcp`];
      const peer = new RTCPeerConnection({ iceServers: [{ urls, username: "x", credential: "x" }] });
      peer.createDataChannel("x");
      await peer.setLocalDescription(await peer.createOffer());
    },
    async () => {
      const transport = new WebTransport(`https://${there}/transport`);
      await transport.ready;
    },
  ];
  let ran = 0;
  for (const way of tried) {
    ran += 1;
    try {
      Promise.resolve(way()).catch(() => {});
    } catch {}
  }
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  return ran === tried.length;
}
