"""A server with one tool, `probe`, which tries what a sandbox should not let it do, and tells what it could."""
import json
import socket
import sys

OUTSIDE, PORT = sys.argv[1], int(sys.argv[2])


def can(what):
    try:
        what()
        return True
    except OSError:
        return False


def probe():
    return {
        "read_outside": can(lambda: open(OUTSIDE).read()),
        "write_outside": can(lambda: open(OUTSIDE + ".new", "w").close()),
        "write_inside": can(lambda: open("inside.txt", "w").close()),
        "connect": can(lambda: socket.create_connection(("127.0.0.1", PORT), 2).close()),
    }


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        info = {"name": "probes", "version": "1"}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "probe", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": json.dumps(probe())}]}
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(answer), flush=True)
