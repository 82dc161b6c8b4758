// A server of Node's http, with its strict settings, as a judge of requests. For each connection it prints a line of JSON:
// the requests that were complete ({method, target, body}), and whether it refused the rest.
const http = require("http");
const server = http.createServer({ insecureHTTPParser: false, requireHostHeader: true }, (request, response) => {
  const parts = [];
  const accepted = request.socket.accepted;
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    accepted.push({ method: request.method, target: request.url, body: Buffer.concat(parts).toString("latin1") });
    response.end();
  });
});
server.on("connection", (socket) => {
  socket.accepted = [];
  socket.on("close", () => console.log(JSON.stringify({ accepted: socket.accepted, refused: socket.refused === true })));
});
// The end of a request before the error is reported after it.
server.on("clientError", (error, socket) => {
  socket.refused = true;
  setImmediate(() => socket.destroy());
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
