// A client that was generated from the OpenAPI document, as somebody would write it.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[]; stdout: { write(text: string): void } };

const [server, key, url] = process.argv.slice(2) as [string, string, string];
const api = createClient<paths, "application/json" | "application/problem+json">({ baseUrl: server, headers: { Authorization: `Bearer ${key}` } });

const fetched = await api.POST("/fetch", { body: { url, formats: ["markdown", "links"] } });
if (fetched.error) throw new Error(fetched.error.detail);
const page: components["schemas"]["FetchAnswer"] = fetched.data;

const found = await api.POST("/search", { body: { query: "nothing is called so", limit: 3 } });
if (found.error) throw new Error(found.error.detail);

const started = await api.POST("/batch/fetch", { body: { urls: [url] } });
if (started.error) throw new Error(started.error.detail);
const batch = await api.GET("/batch/fetch/{id}", { params: { path: { id: started.data.batchId } } });
if (batch.error) throw new Error(batch.error.detail);

const listed = await api.GET("/api/crawls", { params: { query: { limit: 1 } } });
if (listed.error) throw new Error(listed.error.detail);

const refused = await api.POST("/fetch", { body: { url: "ftp://example.com/" } });
const code: string | undefined = refused.error?.code;

process.stdout.write(
  JSON.stringify({
    title: page.title,
    links: page.links?.length,
    results: found.data.results.length,
    total: batch.data.total,
    crawls: listed.data.crawls.length,
    code,
  }),
);
