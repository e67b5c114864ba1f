"""ClickHouse's HTTP interface over the engine in chDB: PACKAGES PORT DIRECTORY.

Rows, effects, errors and cancellation are the engine's; this only passes them on. An answer is sent when it is complete.
There are no users.
"""

import gzip
import json
import os
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

sys.path.insert(0, sys.argv[1])
from chdb import _chdb  # noqa: E402

DIRECTORY = sys.argv[3]
# Of a request; all others are settings.
OWN = {"query", "query_id", "database", "default_format", "wait_end_of_query"}
KEPT = _chdb.connect(DIRECTORY)


def literal(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        asked = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        sql = body.decode()
        if "query" in asked:
            sql = asked["query"] + "\n" + sql
        connection = _chdb.connect(DIRECTORY)
        try:
            connection.query("USE " + "`" + asked.get("database", "default") + "`", "TSV")
            for name, value in asked.items():
                if name not in OWN:
                    connection.query(f"SET {name} = {literal(value)}", "TSV")
            # The engine gives queries names of its own.
            name = asked.get("query_id", "")
            connection.query(f"SET log_comment = {literal(name)}", "TSV")
            if sql.startswith("KILL QUERY") or "FROM system.processes" in sql:
                sql = sql.replace("query_id =", "Settings['log_comment'] =")
            result = connection.query(sql, asked.get("default_format", "TabSeparated"))
            self.answer(200, result.bytes(), {"written_rows": str(result.rows_written())})
        except RuntimeError as error:
            code = re.match(r"Code: (\d+)", str(error))
            self.answer(500, str(error).encode(), {}, code and code.group(1))
        finally:
            connection.close()

    def answer(self, status, body, summary, code=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Keep-Alive", "timeout=30")
        self.send_header("X-ClickHouse-Summary", json.dumps(summary, separators=(",", ":")))
        self.send_header("X-ClickHouse-Exception-Tag", "none")
        if code:
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Handler.wbufsize = 1 << 16
Handler.disable_nagle_algorithm = True
os.umask(0o077)
Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
