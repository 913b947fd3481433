// server.js: an event loop with little to do: a client asks 40 times a second.
const http = require('http');
const s = http.createServer((q, r) => r.end('ok\n')).listen(0, '127.0.0.1', () => {
	const agent = new http.Agent({keepAlive: true});
	setInterval(() => http.get({port: s.address().port, agent}, r => r.resume()), 25);
});
