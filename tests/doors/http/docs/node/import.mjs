// Imports an OpenAPI document as other tools do, and tells what they made of it: node import.mjs FILE
import SwaggerParser from "@apidevtools/swagger-parser";
import { readFileSync } from "node:fs";
import postman from "openapi-to-postmanv2";

const document = JSON.parse(readFileSync(process.argv[2], "utf8"));
const parsed = await SwaggerParser.validate(structuredClone(document));

function requestsIn(items) {
  return items.flatMap((item) => (item.item ? requestsIn(item.item) : [item]));
}

const collection = await new Promise((resolve, reject) => {
  const options = { folderStrategy: "Tags", parametersResolution: "Example" };
  postman.convertV2({ type: "json", data: document }, options, (error, made) => {
    if (error || !made.result) reject(error ?? new Error(made.reason));
    else resolve(made.output[0].data);
  });
});

const requests = requestsIn(collection.item).map(({ name, request }) => ({
  name, method: request.method, body: request.body?.raw ?? "",
}));
console.log(JSON.stringify({ paths: Object.keys(parsed.paths).length, requests }));
