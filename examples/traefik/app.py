"""Stands for your application, and says what it was told."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class App(BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        told = self.headers.get("X-Tidegate-Verdict", "")
        said = f"{self.command} {self.path} {body} verdict={told}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = answer


host, port = "127.0.0.1:9000".split(":")
app = ThreadingHTTPServer((host, int(port)), App)
print("ready", flush=True)
app.serve_forever()
