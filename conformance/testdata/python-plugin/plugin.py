#!/usr/bin/env python3
"""A plugin for bb in Python, with the standard library only: a template for plugins in other languages.

The class Connection speaks the protocol (docs/spec/plugin-protocol.md); the functions below it are the plugin. Each request
of the kernel runs on a thread of its own, so that pings are answered whatever else goes on.
"""
import hashlib
import json
import sys
import threading


class Failure(Exception):
    """A failure with a code: of the kernel's table, or one that the contract declares."""

    NUMBERS = {"invalid_input": -32602, "not_found": -32014, "conflict": -32015, "precondition": -32016,
               "cancelled": -32017, "service_unavailable": -32020}

    def __init__(self, code, message, details=None):
        super().__init__(message)
        self.code, self.details = code, details

    def wire(self):
        data = {"code": self.code, "message": str(self)}
        if self.details:
            data["details"] = self.details
        return {"code": self.NUMBERS.get(self.code, -32603), "message": str(self), "data": data}


class Connection:
    def __init__(self, handlers):
        self.handlers = handlers
        self.write = threading.Lock()
        self.lock = threading.Lock()
        self.waiting = {}    # our requests: id -> [event, answer]
        self.cancelled = {}  # calls under way: id -> event
        self.credit = {}     # streams that we serve: id -> semaphore
        self.next = 0

    def send(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        with self.write:
            sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
            sys.stdout.buffer.flush()

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        """Send a request to the kernel and wait for its answer."""
        done = threading.Event()
        with self.lock:
            self.next += 1
            key = f"p{self.next}"
            slot = self.waiting[key] = [done, None]
        self.send({"id": key, "method": method, "params": params})
        done.wait()
        answer = slot[1]
        if "error" in answer:
            data = answer["error"].get("data") or {}
            raise Failure(data.get("code", "internal"), answer["error"].get("message", ""), data.get("details"))
        return answer["result"]

    def answer(self, request, work):
        try:
            result = {"result": work()}
        except Failure as e:
            result = {"error": e.wire()}
        except Exception as e:  # a mistake of ours: its text goes to the kernel's log
            result = {"error": {"code": -32603, "message": repr(e), "data": {"code": "internal", "message": repr(e)}}}
        self.send({"id": request["id"], **result})

    def run(self):
        """Read lines until the end of the input. What is no message is skipped."""
        for raw in sys.stdin.buffer:
            try:
                message = json.loads(raw.decode("utf-8"))
            except ValueError:
                continue
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                continue
            params = message.get("params") or {}
            if "method" not in message:
                self.answered(message)
            elif "id" not in message:
                self.told(message["method"], params)
            elif message["method"] == "ping":
                self.answer(message, dict)
            else:
                if isinstance(params, dict) and isinstance(params.get("call"), dict):
                    with self.lock:
                        self.cancelled[params["call"].get("id")] = threading.Event()
                    if message["method"] == "stream/open":
                        self.credit[params["call"]["id"]] = threading.Semaphore(min(params.get("credit", 0), 64))
                threading.Thread(target=self.take, args=(message, params), daemon=True).start()

    def answered(self, message):
        with self.lock:
            slot = self.waiting.pop(message.get("id"), None)
        if slot:
            slot[1] = message
            slot[0].set()

    def told(self, method, params):
        if method == "cancel":
            event = self.cancelled.get(params.get("call"))
            if event:
                event.set()
                semaphore = self.credit.get(params.get("call"))
                if semaphore:
                    semaphore.release()  # a stream that waits for credit looks up
        elif method == "stream/credit":
            semaphore = self.credit.get(params.get("stream"))
            for _ in range(min(params.get("n", 0), 64)):
                if semaphore:
                    semaphore.release()

    def take(self, message, params):
        handler = self.handlers.get(message["method"])
        if handler is None:
            self.send({"id": message["id"], "error": {"code": -32601, "message": f"there is no method {message['method']!r}"}})
            return
        items = []
        self.answer(message, lambda: handler(self, params, items))
        if message["method"] == "stream/open" and items:
            self.serve(params["call"]["id"], items[0])
        if isinstance(params.get("call"), dict):
            with self.lock:
                self.cancelled.pop(params["call"].get("id"), None)
                self.credit.pop(params["call"].get("id"), None)

    def serve(self, stream, items):
        """Send the items of a stream, never more than there is credit for."""
        event, credit = self.cancelled[stream], self.credit[stream]
        end = {"stream": stream}
        try:
            for cursor, item in items:
                credit.acquire()
                if event.is_set():
                    return
                self.notify("stream/item", {"stream": stream, "cursor": cursor, "item": item})
        except Failure as e:
            end["error"] = e.wire()["data"]
        self.notify("stream/end", end)


# The plugin.

def initialize(connection, params, _):
    if params.get("protocol") != 1:
        raise Failure("precondition", "this plugin speaks version 1 of the protocol", {"supported": [1]})
    return {"protocol": 1, "pluginId": "shelf", "version": "1.0.0"}


def setup(connection, params, _):
    return {"methods": ["shelf/things." + name for name in METHODS]}


def call(connection, params, _):
    method = METHODS.get(params["call"]["ref"].removeprefix("shelf/things."))
    if method is None or method is count:
        raise Failure("not_found", f"there is no method {params['call']['ref']}")
    return {"result": method(connection, params["call"], params.get("input") or {})}


def stream_open(connection, params, items):
    if params["call"]["ref"] != "shelf/things.count":
        raise Failure("not_found", f"there is no stream {params['call']['ref']}")
    items.append(count(connection, params["call"], params.get("input") or {}))
    return {}


def render(connection, params, _):
    thing = params["value"]
    return {"text": f"{thing['name']} weighs {thing['weight']}"}


def add(connection, call, given):
    """Keep a thing, in one transaction: read, check, write; again when somebody was faster."""
    limit = connection.ask("config/get", {"key": "limit"}).get("value", 100)
    while True:
        checks, there = [], None
        try:
            there = connection.ask("kv/get", {"key": "thing/" + given["name"]})
        except Failure as e:
            if e.code != "not_found":
                raise
        if there is not None:
            raise Failure("taken", f"{given['name']} is there already")
        checks.append({"key": "thing/" + given["name"]})  # it must still be absent
        page = connection.ask("kv/list", {"prefix": "thing/"})
        if len(page["entries"]) >= limit:
            raise Failure("conflict", f"there are {limit} things already")
        digest = hashlib.sha256()
        for entry in page["entries"]:
            value = json.dumps(entry["value"], ensure_ascii=False, separators=(",", ":"))
            digest.update(entry["key"].encode() + b"\x00" + value.encode() + b"\n")
        thing = {"name": given["name"], "weight": given["weight"], "owner": call["principal"]["actor"]}
        try:
            connection.ask("kv/commit", {"checks": checks, "lists": [{"prefix": "thing/", "sha256": digest.hexdigest()}],
                                         "writes": [{"key": "thing/" + given["name"], "value": thing}]})
        except Failure as e:
            if e.code == "conflict":
                continue
            raise
        connection.notify("log", {"level": "info", "message": "kept", "attrs": {"name": given["name"]}, "call": call["id"]})
        return thing


def names(connection, call, given):
    entries, after = [], ""
    while True:
        page = connection.ask("kv/list", {"prefix": "thing/", "after": after})
        entries += page["entries"]
        if not page.get("more"):
            return [e["value"]["name"] for e in entries]
        after = entries[-1]["key"]


def drop(connection, call, given):
    page = connection.ask("kv/list", {"prefix": "thing/"})
    connection.ask("kv/commit", {"writes": [{"key": e["key"], "delete": True} for e in page["entries"]]})
    return {"dropped": len(page["entries"])}


def count(connection, call, given):
    since = call.get("since", "")
    if since and not since.isdigit():
        raise Failure("precondition", f"the cursor {since!r} is not one")
    for n in range(int(since or 0) + 1, given["limit"] + 1):
        yield str(n), {"n": n}


def sleep(connection, call, given):
    if connection.cancelled[call["id"]].wait(60):
        raise Failure("cancelled", "nobody waits any more")
    return "slept"


METHODS = {"add": add, "list": names, "drop": drop, "count": count, "sleep": sleep}

if __name__ == "__main__":
    Connection({"initialize": initialize, "setup": setup, "call": call, "stream/open": stream_open, "render": render,
                "guard": lambda *_: {}, "shutdown": lambda *_: {}}).run()
