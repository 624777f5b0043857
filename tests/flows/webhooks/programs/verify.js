// Verifies what comes on standard input with each secret, as receivers do. Fails if one does not fit.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { secrets, headers, body } = JSON.parse(readFileSync(0, "utf8"));
for (const secret of secrets) new Webhook(secret).verify(body, headers);
console.log("verified", secrets.length);
