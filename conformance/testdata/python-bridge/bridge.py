#!/usr/bin/env python3
"""A provider bridge in Python, with nothing but the standard library.

Its agent is a parrot: it says everything back, and a few words make it do something. The file is written from the wire
reference in docs/bridges.md and shows that another language needs no more than that page.

    python3 bridge.py [--profile full|bare] [--state DIR]
"""

import argparse
import collections
import json
import json.decoder
import os
import pathlib
import re
import secrets
import sys
import tempfile
import threading

MAX_LINE = 8 << 20  # bytes of a line, in both directions
PIECE = (1 << 20) // 4  # characters of an item.text: 1 MiB, when each takes four bytes
FULL = 2 * MAX_LINE  # bytes that wait to be written before the agent is made to wait too
LAST = 1.0  # seconds for the last lines when standard input has ended
PROVIDER = "parrot"

INVALID_PARAMS, METHOD_NOT_FOUND, BRIDGE_ERROR = -32602, -32601, -32000
NO_ACTIVE_TURN, SESSION_NOT_RESTORABLE, CHECKPOINT_UNSUPPORTED = -32001, -32002, -32003
CAPABILITY_NOT_ADVERTISED, PROTOCOL_UNSUPPORTED, INTERRUPTED = -32005, -32006, -32007


class Failure(Exception):
    """An error answer."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Interrupted(Exception):
    """The turn was stopped."""


# --- Lines -----------------------------------------------------------------------------------------------------------


def read_lines(stream):
    """Yields the lines of a byte stream, without their ends; None for one that was too long."""
    buffer, skipping, first = bytearray(), False, True
    while True:
        chunk = stream.read1(1 << 16)
        parts = chunk.split(b"\n")
        for part in parts[:-1]:
            yield finish(buffer, part, skipping, first)
            buffer, skipping, first = bytearray(), False, False
        if skipping or len(buffer) + len(parts[-1]) > MAX_LINE + 4:  # a byte order mark and a CR do not count
            buffer, skipping = bytearray(), True
        else:
            buffer += parts[-1]
        if not chunk:
            if buffer or skipping:
                yield finish(buffer, b"", skipping, first)
            return


def finish(buffer, rest, skipping, first):
    line = bytes(buffer + rest)
    if first and line.startswith(b"\xef\xbb\xbf"):
        line = line[3:]
    if line.endswith(b"\r"):
        line = line[:-1]
    return None if skipping or len(line) > MAX_LINE else line


def no_constant(name):
    raise ValueError(name + " is not JSON")


def whole(digits):
    """Reads an integer. Python refuses to read very long ones; what is that large only has to stay large."""
    if len(digits) <= 4000:
        return int(digits)
    return -10 ** 4000 if digits.startswith("-") else 10 ** 4000


DECODER = json.JSONDecoder(parse_constant=no_constant, parse_int=whole)
SPACE = re.compile(r"[ \t\r\n]*")


def parse(line):
    """Splits a line into the members of its object: name -> (value, raw text). Raises ValueError for anything else."""
    text = line.decode("utf-8")
    at = SPACE.match(text).end()
    if text[at:at + 1] != "{":
        raise ValueError("not an object")
    members, at = {}, SPACE.match(text, at + 1).end()
    if text[at:at + 1] != "}":
        while True:
            if text[at:at + 1] != '"':
                raise ValueError("a name is missing")
            name, at = json.decoder.scanstring(text, at + 1)
            at = SPACE.match(text, at).end()
            if text[at:at + 1] != ":":
                raise ValueError("a colon is missing")
            start = SPACE.match(text, at + 1).end()
            value, at = DECODER.raw_decode(text, start)
            if name in members:
                raise ValueError(name + " stands there twice")
            members[name] = (value, text[start:at])
            at = SPACE.match(text, at).end()
            if text[at:at + 1] == "}":
                break
            if text[at:at + 1] != ",":
                raise ValueError("a comma is missing")
            at = SPACE.match(text, at + 1).end()
    if SPACE.match(text, at + 1).end() != len(text):
        raise ValueError("something follows the object")
    return members


def dump(value):
    """Writes JSON as it is in UTF-8: escapes could make six bytes of two. Half a surrogate pair is no character."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def is_id(value):
    return isinstance(value, str) or isinstance(value, int) and not isinstance(value, bool)


# --- Params ----------------------------------------------------------------------------------------------------------
# A check is a function of a value, its path and the list of issues that it adds to.


def check(test, message):
    def run(value, path, issues):
        if not test(value):
            issues.append({"path": path, "code": "invalid_type", "message": message})
    return run


text = check(lambda v: isinstance(v, str), "must be a string")
name = check(lambda v: isinstance(v, str) and v != "", "must be a string that is not empty")
integer = check(lambda v: isinstance(v, int) and not isinstance(v, bool), "must be an integer")
natural = check(lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0, "must be an integer from 0 on")
boolean = check(lambda v: isinstance(v, bool), "must be true or false")
anything = check(lambda v: True, "")
any_object = check(lambda v: isinstance(v, dict), "must be an object")
strings = check(lambda v: isinstance(v, dict) and all(isinstance(x, str) for x in v.values()), "must be an object of strings")


def one_of(*values):
    return check(lambda v: v in values and not isinstance(v, bool), "must be one of " + ", ".join(map(str, values)))


def maybe(inner):
    return lambda v, path, issues: None if v is None else inner(v, path, issues)


def each(inner, least=0):
    def run(value, path, issues):
        if not isinstance(value, list) or len(value) < least:
            issues.append({"path": path, "code": "invalid_type", "message": "must be an array of at least %d" % least})
            return
        for i, v in enumerate(value):
            inner(v, path + [i], issues)
    return run


def fields(**inner):
    """An object with these fields, and perhaps others."""
    def run(value, path, issues):
        if not isinstance(value, dict):
            issues.append({"path": path, "code": "invalid_type", "message": "must be an object"})
            return
        for key, test in inner.items():
            if key not in value:
                issues.append({"path": path + [key], "code": "missing", "message": "is missing"})
            else:
                test(value[key], path + [key], issues)
    return run


def tagged(tag, **kinds):
    """One of several objects, told apart by a field."""
    def run(value, path, issues):
        kind = value.get(tag) if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in kinds:
            issues.append({"path": path, "code": "invalid_value", "message": tag + " must be one of " + ", ".join(kinds)})
            return
        kinds[kind](value, path, issues)
    return run


visibility = one_of("user", "agent-only")
mention = fields(start=natural, end=natural, resource=fields(kind=name, label=text))
prompt_input = tagged(
    "type",
    text=fields(text=text, mentions=each(mention), visibility=visibility),
    image=fields(url=name, visibility=visibility),
    localImage=fields(path=name, visibility=visibility),
    localFile=fields(path=name, name=maybe(text), sizeBytes=maybe(natural), mimeType=maybe(text), visibility=visibility))
escalation = one_of("ask", "deny")
permission = {
    "accept-edits": fields(scope=one_of("workspace"), reviewer=one_of("user"), escalation=escalation),
    "auto": fields(scope=one_of("workspace"), reviewer=one_of("automatic"), escalation=escalation),
    "full": fields(scope=one_of("full"), reviewer=one_of(None), escalation=one_of(None)),
}
options = fields(
    model=text, reasoningLevel=maybe(text), serviceTier=maybe(text), permission=tagged("mode", **permission),
    instructions=text, providerOptions=any_object)
intent = one_of("generic", "terminal", "diff", "search", "read", "list", "web", "image")
tool = fields(
    name=name, description=text, inputSchema=any_object,
    presentation=fields(label=fields(pending=name, completed=name), icon=name, intent=intent, suppress=boolean))
actions = each(one_of("compact", "plan", "goal"))

SESSION = dict(
    threadId=name, providerId=name, cwd=name, workspace=fields(root=name, writeRoots=each(text)), env=strings,
    options=options, tools=each(tool), disallowedTools=each(text), instructionMode=one_of("append", "replace"),
    actions=actions, bridgeOptions=any_object)
REF = dict(threadId=name, providerThreadId=name)
TURN = dict(REF, input=each(prompt_input), clientRequestId=name, options=options, actions=actions)
SESSIONLESS = dict(providerId=name, cwd=name, bridgeOptions=any_object)

PARAMS = {
    "initialize": fields(
        protocol=fields(min=integer, max=integer), client=fields(name=name, version=name),
        plugin=fields(id=name, version=name), providerIds=each(name, 1)),
    "model/list": fields(**SESSIONLESS),
    "provider/health": fields(**SESSIONLESS),
    "provider/usage": fields(**SESSIONLESS),
    "provider/installation/status": fields(checkUpdates=boolean, **SESSIONLESS),
    "provider/installation/run": fields(action=one_of("install", "update"), **SESSIONLESS),
    "skills/discover": fields(**SESSIONLESS),
    "skills/configure": fields(threadId=name, roots=each(fields(id=name, path=name, label=text))),
    "thread/start": fields(**SESSION),
    "thread/resume": fields(providerThreadId=name, **SESSION),
    "thread/fork": fields(sourceProviderThreadId=name, sourceCheckpointId=maybe(name), **SESSION),
    "thread/stop": fields(intent=one_of("interrupt", "release"), **REF),
    "thread/discard": fields(**REF),
    "thread/archive": fields(**REF),
    "thread/unarchive": fields(**REF),
    "thread/name/set": fields(title=name, **REF),
    "thread/goal/set": fields(goal=name, **REF),
    "thread/goal/clear": fields(**REF),
    "turn/start": fields(**TURN),
    "turn/steer": fields(turnId=name, **TURN),
    "shutdown": fields(graceMs=natural),
}

# What each profile reports, and the capability that a method needs. Those of NEVER belong to what the declaration does
# not promise.
PROFILES = {
    "full": dict(
        sessionRestore=True, threadArchive=True, threadRename=True, threadGoal=True,
        fork="checkpoint", approvalEnforcedBy="runtime", steer="native"),
    "bare": dict(
        sessionRestore=False, threadArchive=False, threadRename=False, threadGoal=False,
        fork="none", approvalEnforcedBy="runtime", steer="none"),
}
NEEDS = {
    "thread/resume": "sessionRestore", "thread/archive": "threadArchive", "thread/unarchive": "threadArchive",
    "thread/name/set": "threadRename", "thread/goal/set": "threadGoal", "thread/goal/clear": "threadGoal",
    "thread/fork": "fork", "turn/steer": "steer",
}
NEVER = {
    "model/list", "provider/health", "provider/usage", "provider/installation/status", "provider/installation/run",
    "skills/discover", "skills/configure",
}
FOR_A_PROVIDER = {"thread/start", "thread/resume", "thread/fork"} | NEVER - {"skills/configure"}


# --- The connection --------------------------------------------------------------------------------------------------


class Writer:
    """Standard output, on a thread of its own: whoever reads requests must not wait for core to read."""

    def __init__(self, stream):
        self.stream, self.lines, self.waiting = stream, collections.deque(), 0
        self.changed = threading.Condition()
        threading.Thread(target=self.run, daemon=True).start()

    def put(self, line):
        with self.changed:
            self.lines.append(line)
            self.waiting += len(line)
            self.changed.notify_all()

    def room(self):
        """Waits until not much is unwritten."""
        with self.changed:
            self.changed.wait_for(lambda: self.waiting < FULL)

    def flush(self, seconds):
        """Waits until everything is written, but no longer than that."""
        with self.changed:
            self.changed.wait_for(lambda: self.waiting == 0, seconds)

    def run(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.lines)
                line = self.lines.popleft()
            try:
                self.stream.write(line)
                self.stream.flush()
            except OSError:
                pass  # core is gone, and standard input ends too
            with self.changed:
                self.waiting -= len(line)
                self.changed.notify_all()


class Bridge:
    def __init__(self, profile, state):
        self.capabilities = PROFILES[profile]
        self.state = state
        self.initialized = self.ending = False
        self.output = Writer(sys.stdout.buffer)
        self.lock = threading.RLock()  # guards everything below, and the order of lines
        self.threads = {}  # core's thread id -> Session
        self.lanes = {}  # core's thread id -> requests that wait for the one before them
        self.in_flight = {}  # requests of core without an answer: comparable id -> raw id
        self.waiting = {}  # our own requests: id -> Waiter
        self.last_id = 0

    # Writing. Nothing here waits for core to read.

    def write(self, message):
        self.write_text(dump(message))

    def write_text(self, text):
        line = text.encode()
        if len(line) > MAX_LINE:
            raise ValueError("a message of %d bytes is longer than a line may be" % len(line))
        self.output.put(line + b"\n")

    def notify(self, method, **params):
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def warn(self, message):
        if self.initialized:
            self.notify("bridge/log", threadId=None, level="warn", message=message, data=None)
        else:
            print(message, file=sys.stderr, flush=True)

    def answer(self, key, member, value):
        """Answers a request of core, once."""
        with self.lock:
            raw = self.in_flight.pop(key, None)
            if raw is not None:  # else it was answered when the bridge was told to end
                self.write_text('{"jsonrpc":"2.0","id":%s,"%s":%s}' % (raw, member, dump(value)))

    def fail(self, key, failure):
        error = {"code": failure.code, "message": failure.message}
        if failure.data is not None:
            error["data"] = failure.data
        self.answer(key, "error", error)

    def call(self, session, method, **params):
        """Sends a request to core and waits for its answer."""
        waiter = Waiter()
        with self.lock:
            if session.stopping:
                raise Interrupted
            self.last_id += 1
            request = "bridge-%d" % self.last_id
            self.write({"jsonrpc": "2.0", "id": request, "method": method, "params": params})
            self.waiting[request] = waiter
            session.waiters.append(waiter)
        waiter.done.wait()
        with self.lock:
            self.waiting.pop(request, None)  # an answer that comes when nobody waits any more is none
            session.waiters.remove(waiter)
        if waiter.error is not None:
            if waiter.error.get("code") == INTERRUPTED:
                raise Interrupted
            raise Failure(BRIDGE_ERROR, str(waiter.error.get("message")))
        return waiter.result

    # Reading.

    def run(self):
        for line in read_lines(sys.stdin.buffer):
            if line is None:
                self.warn("dropped a line of more than %d bytes" % MAX_LINE)
                continue
            try:
                self.receive(parse(line))
            except (ValueError, RecursionError) as problem:
                self.warn("dropped a line: %s" % problem)
        self.end(LAST)

    def receive(self, members):
        if members.get("jsonrpc", (None,))[0] != "2.0":
            raise ValueError("jsonrpc is not 2.0")
        method = members.get("method", (None,))[0]
        identity, raw = members.get("id", (None, None))
        if "method" in members:
            if not isinstance(method, str) or "result" in members or "error" in members:
                raise ValueError("it is neither a request nor a response")
            if raw is None:
                return  # core sends no notifications
            if not is_id(identity):
                raise ValueError("the id %.100s is neither a string nor an integer" % raw)
            key = (identity, "string") if isinstance(identity, str) else (raw, "integer")
            with self.lock:
                if self.ending:
                    return
                if key in self.in_flight:
                    raise ValueError("the id %.100s is not answered yet" % raw)
                self.in_flight[key] = raw
            self.request(key, method, members.get("params", ({}, ""))[0])
            return
        if ("result" in members) == ("error" in members):
            raise ValueError("it is neither a request nor a response")
        with self.lock:
            waiter = self.waiting.pop(identity, None) if isinstance(identity, str) else None
        if waiter is None:
            raise ValueError("it answers no request")
        error = members.get("error", (None,))[0]
        if "error" in members and not isinstance(error, dict):
            error = {"message": "the error is no object"}
        waiter.finish(members.get("result", (None,))[0], error)

    def request(self, key, method, params):
        self.guarded(key, self.dispatch, key, method, params)

    def guarded(self, key, function, *args):
        try:
            function(*args)
        except Failure as failure:
            self.fail(key, failure)
        except Exception as problem:  # whatever goes wrong, core gets an answer and the bridge lives
            self.fail(key, Failure(BRIDGE_ERROR, "%s: %s" % (type(problem).__name__, problem)))

    def dispatch(self, key, method, params):
        """The checks of a request, in their order."""
        if method != "initialize" and not self.initialized:
            raise Failure(BRIDGE_ERROR, method + " came before initialize")
        if method == "initialize" and self.initialized:
            raise Failure(BRIDGE_ERROR, "initialize came a second time")
        if method not in PARAMS:
            raise Failure(METHOD_NOT_FOUND, "there is no method " + method)
        issues = []
        PARAMS[method](params, [], issues)
        if not issues and method in ("turn/start", "turn/steer") and not params["input"] and not params["actions"]:
            issues.append({"path": ["input"], "code": "too_small", "message": "may be empty only with an action"})
        if not issues and method == "initialize":
            issues += [{"path": ["providerIds", i], "code": "unknown_provider", "message": "is not served here"}
                       for i, provider in enumerate(params["providerIds"]) if provider != PROVIDER]
        if not issues and method in FOR_A_PROVIDER and params["providerId"] != PROVIDER:
            issues.append({"path": ["providerId"], "code": "unknown_provider", "message": "is not served here"})
        if issues:
            raise Failure(INVALID_PARAMS, "the params are wrong", {"issues": issues})
        if method == "initialize":
            self.answer(key, "result", self.handshake(params["protocol"]))
            return
        if method == "shutdown":
            self.shutdown(key, params["graceMs"])
            return
        if method in NEVER:
            raise Failure(CAPABILITY_NOT_ADVERTISED, method + " is not among what this bridge can do")
        if method in NEEDS and self.capabilities[NEEDS[method]] in (False, "none"):
            raise Failure(CAPABILITY_NOT_ADVERTISED, method + " is not among what this bridge can do")
        if method == "thread/fork" and params["sourceCheckpointId"] and self.capabilities["fork"] != "checkpoint":
            raise Failure(CHECKPOINT_UNSUPPORTED, "leave sourceCheckpointId null")
        handler = getattr(self, method.replace("/", "_"))
        self.queue(params["threadId"], lambda: self.guarded(key, lambda: self.answer(key, "result", handler(params))))

    def queue(self, thread, task):
        """Runs the tasks of a thread in their order, one at a time, and those of different threads side by side."""
        with self.lock:
            if thread in self.lanes:
                self.lanes[thread].append(task)
                return
            self.lanes[thread] = collections.deque([task])
        threading.Thread(target=self.work_off, args=(thread,), daemon=True).start()

    def work_off(self, thread):
        while True:
            with self.lock:
                if not self.lanes[thread]:
                    del self.lanes[thread]
                    return
                task = self.lanes[thread].popleft()
            task()

    def handshake(self, versions):
        if not versions["min"] <= 3 <= versions["max"]:
            raise Failure(PROTOCOL_UNSUPPORTED, "this bridge speaks protocol version 3",
                          {"core": {"min": versions["min"], "max": versions["max"]}, "bridge": {"min": 3, "max": 3}})
        self.initialized = True
        return {"protocol": 3, "capabilities": self.capabilities}

    # Sessions.

    def thread_start(self, params):
        return self.open(params, {"id": "parrot-" + secrets.token_hex(8), "turns": []})

    def thread_resume(self, params):
        return self.open(params, self.state.load(params["providerThreadId"]))

    def thread_fork(self, params):
        source = self.state.load(params["sourceProviderThreadId"])
        turns, checkpoint = source["turns"], params["sourceCheckpointId"]
        if checkpoint is not None:
            ends = [i for i, turn in enumerate(turns) if turn["checkpoint"] == checkpoint]
            if not ends:
                raise Failure(BRIDGE_ERROR, "there is no checkpoint " + checkpoint)
            turns = turns[:ends[0] + 1]
        return self.open(params, {"id": "parrot-" + secrets.token_hex(8), "turns": turns})

    def open(self, params, kept):
        thread = params["threadId"]
        with self.lock:
            if thread in self.threads:
                raise Failure(BRIDGE_ERROR, "thread %s has a session already" % thread)
            self.threads[thread] = session = Session(self, params, kept)
        restorable = self.capabilities["sessionRestore"]
        if restorable:
            self.state.save(kept)
        identity = {"providerThreadId": kept["id"], "sessionRestorable": restorable}
        self.notify("thread/identity", threadId=thread, **identity)
        session.send({"kind": "session.reset"})
        return identity

    def session(self, params):
        with self.lock:
            session = self.threads.get(params["threadId"])
        if session is None:
            raise Failure(BRIDGE_ERROR, "thread %s has no session here" % params["threadId"])
        return session

    def turn_start(self, params):
        self.session(params).begin(params)
        return {}

    def turn_steer(self, params):
        session = self.threads.get(params["threadId"])
        if session is None or not session.steer(params):
            raise Failure(NO_ACTIVE_TURN, "the turn %s is not open" % params["turnId"])
        return {}

    def thread_stop(self, params):
        session = self.threads.get(params["threadId"])
        if session is not None and params["intent"] == "interrupt":
            session.interrupt()
        elif session is not None:
            with self.lock:
                if session.turn is not None:
                    raise Failure(BRIDGE_ERROR, "a turn is open: interrupt it first")
                del self.threads[params["threadId"]]
        return {}

    def thread_discard(self, params):
        with self.lock:
            session = self.threads.pop(params["threadId"], None)
        if session is not None:
            session.interrupt()
        self.state.remove(params["providerThreadId"])
        return {}

    def remember(self, params, **changes):
        self.state.change(params["providerThreadId"], **changes)
        return {}

    def thread_archive(self, params):
        return self.remember(params, archived=True)

    def thread_unarchive(self, params):
        return self.remember(params, archived=False)

    def thread_name_set(self, params):
        return self.remember(params, name=params["title"])

    def thread_goal_set(self, params):
        return self.remember(params, goal=params["goal"])

    def thread_goal_clear(self, params):
        return self.remember(params, goal=None)

    # The end.

    def shutdown(self, key, grace_ms):
        """Answers and ends, on a thread of its own: standard input may end before the grace does."""
        with self.lock:
            self.answer(key, "result", {})
            self.give_up()
        seconds = min(grace_ms, 3600_000) / 1000
        threading.Thread(target=self.end, args=(max(seconds, 0.1),), daemon=True).start()

    def give_up(self):
        """Takes no more requests, and ends what waits for core and what core waits for."""
        with self.lock:
            self.ending = True
            for waiter in list(self.waiting.values()):
                waiter.finish(None, {"code": INTERRUPTED})
            for key in list(self.in_flight):
                self.fail(key, Failure(INTERRUPTED, "the bridge ends"))

    def end(self, seconds):
        """Exits, when everything is written or the time is over: core may read no more."""
        self.give_up()
        self.output.flush(seconds)
        os._exit(0)


class Waiter:
    """A request of ours that waits for its answer."""

    def __init__(self):
        self.done, self.result, self.error = threading.Event(), None, None

    def finish(self, result, error):
        if not self.done.is_set():
            self.result, self.error = result, error
            self.done.set()


class State:
    """Sessions as files of a directory, for the process that resumes them."""

    ID = re.compile(r"parrot-[0-9a-f]{16}")

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.lock = threading.Lock()

    def file(self, session):
        if not self.ID.fullmatch(session):
            raise Failure(SESSION_NOT_RESTORABLE, "there is no session " + session)
        return self.directory / (session + ".json")

    def load(self, session):
        try:
            return json.loads(self.file(session).read_text())
        except (OSError, ValueError):
            raise Failure(SESSION_NOT_RESTORABLE, "there is no session " + session) from None

    def save(self, kept):
        new = self.directory / (kept["id"] + "." + secrets.token_hex(4))
        new.write_text(json.dumps(kept))
        new.replace(self.file(kept["id"]))

    def change(self, session, **changes):
        """Changes some of what is kept, and leaves the rest as it is: a turn and a rename come side by side."""
        with self.lock:
            self.save(dict(self.load(session), **changes))

    def remove(self, session):
        if self.ID.fullmatch(session):
            self.file(session).unlink(missing_ok=True)


# --- The agent -------------------------------------------------------------------------------------------------------


class Session:
    """A thread's conversation with the parrot."""

    def __init__(self, bridge, params, kept):
        self.bridge, self.thread, self.tools, self.kept = bridge, params["threadId"], params["tools"], kept
        self.turn = None  # the key of the open turn
        self.turns = self.items = 0
        self.stopping = False
        self.stopped = threading.Event()  # set when the open turn is told to stop
        self.settled = threading.Event()
        self.settled.set()
        self.waiters = []

    def send(self, *deltas):
        """Sends deltas in as few lines as hold them."""
        batch, size = [], 0
        for delta in deltas:
            length = len(dump(delta).encode())
            if batch and size + length > MAX_LINE // 2:
                self.bridge.notify("thread/delta", threadId=self.thread, deltas=batch)
                batch, size = [], 0
            batch.append(delta)
            size += length
        if batch:
            self.bridge.notify("thread/delta", threadId=self.thread, deltas=batch)

    def begin(self, params):
        words = " ".join(part["text"] for part in params["input"] if part["type"] == "text")
        accepted = {"kind": "input.accepted", "clientRequestId": params["clientRequestId"]}
        with self.bridge.lock:
            if self.turn is not None:
                raise Failure(BRIDGE_ERROR, "a turn is open already")
            if words == "nothing":
                self.send(accepted, {"kind": "turn.boundary", "turnKey": None, "status": "completed", "error": None,
                                     "checkpointId": None})
                return
            self.turns += 1
            self.turn, self.stopping = "turn-%d" % self.turns, False
            self.stopped.clear()
            self.settled.clear()
            self.send(accepted, {"kind": "turn.open", "turnKey": self.turn, "parentRef": None})
        threading.Thread(target=self.work, args=(words or " ".join(params["actions"]),), daemon=True).start()

    def steer(self, params):
        with self.bridge.lock:
            if self.turn is None or self.turn != params["turnId"]:
                return False
            self.send({"kind": "input.accepted", "clientRequestId": params["clientRequestId"]})
            return True

    def interrupt(self):
        """Stops the open turn and waits until everything of it is on the wire."""
        with self.bridge.lock:
            self.stopping = True
            self.stopped.set()
            for waiter in self.waiters:
                waiter.finish(None, {"code": INTERRUPTED})
        self.settled.wait()
        with self.bridge.lock:
            self.stopping = False

    def work(self, words):
        """The turn, on a thread of its own."""
        self.open_items, status, error, checkpoint = [], "completed", None, None
        try:
            word, _, rest = words.partition(" ")
            getattr(self, "do_" + word, lambda _: self.say(words))(rest)
            checkpoint = self.keep(words)
        except Interrupted:
            status = "interrupted"
        except Exception as problem:
            status, error = "failed", {"message": str(problem)[:1000]}
        with self.bridge.lock:
            closing = [self.closing(key, item, status, "Stopped") for key, item in reversed(self.open_items)]
            try:
                self.send(*closing)
            except ValueError:
                pass  # an item that just fitted its line when it was opened: core settles it with the turn
            self.send({"kind": "turn.boundary", "turnKey": self.turn, "status": status, "error": error,
                       "checkpointId": checkpoint})
            self.turn = None
            self.settled.set()

    def keep(self, words):
        """Remembers a turn that is over, and names the point behind it."""
        checkpoint = secrets.token_hex(4)
        self.kept["turns"] = self.kept["turns"] + [{"checkpoint": checkpoint, "text": words}]
        if self.bridge.capabilities["sessionRestore"]:
            self.bridge.state.change(self.kept["id"], turns=self.kept["turns"])
        return checkpoint

    # Items.

    def scoped(self, kind, **rest):
        return dict({"kind": kind, "scope": "turn", "turnKey": self.turn}, **rest)

    def key(self, parent=None):
        self.items += 1
        return {"providerItemId": "item-%d" % self.items, "channel": None, "parentRef": parent}

    def open(self, item, label, key=None):
        key = key or self.key()
        self.send(self.scoped("item.open", key=key, item=item, presentation={"label": label, "icon": "bird"}))
        self.open_items.append((key, item))
        return key

    def closing(self, key, item, status, label):
        return self.scoped("item.close", key=key, status=status, item=item, presentation={"label": label, "icon": "bird"})

    def close(self, key, item, label="Done", status="completed"):
        self.open_items = [(k, i) for k, i in self.open_items if k is not key]
        self.send(self.closing(key, item, status, label))

    def say(self, words):
        key = self.open({"kind": "message", "text": ""}, "Squawking")
        for part in re.findall(r"\S+\s*|\s+", words):
            for at in range(0, len(part), PIECE):
                self.bridge.output.room()
                self.send(self.scoped("item.text", key=key, stream="text", text=part[at:at + PIECE]))
        self.close(key, {"kind": "message", "text": words}, "Squawked")

    # Words.

    def do_items(self, _):
        thought = self.open({"kind": "reasoning", "text": "", "summary": ""}, "Thinking")
        self.send(self.scoped("item.text", key=thought, stream="summary", text="About seeds"))
        self.close(thought, {"kind": "reasoning", "text": "", "summary": "About seeds"}, "Thought")
        command = {"kind": "command", "command": "ls", "cwd": None, "intent": "terminal",
                   "actions": [{"kind": "listFiles", "command": "ls", "path": None}],
                   "output": None, "exitCode": None, "durationMs": None, "approval": None}
        key = self.open(command, "Listing")
        self.send(self.scoped("item.output", key=key, mode="append", text="seeds.txt\n"))
        self.close(key, dict(command, output="seeds.txt\n", exitCode=0, durationMs=1), "Listed")
        change = {"kind": "file_change", "approval": None,
                  "changes": [{"path": "seeds.txt", "change": "add", "movePath": None, "diff": None}]}
        self.close(self.open(change, "Writing"), change, "Wrote")
        feather = {"kind": "parrot/feather", "payload": {"colour": "green"}}
        self.close(self.open(feather, "Dropping a feather"), feather, "Dropped a feather")
        task = {"kind": "task", "role": "delegation", "label": "Ask a chick", "taskType": None, "childRef": None,
                "background": False, "summary": None, "error": None, "outputFile": None, "usage": None}
        parent = self.open(task, "Asking a chick")
        child = self.open({"kind": "message", "text": ""}, "Peeping", self.key(parent["providerItemId"]))
        self.close(child, {"kind": "message", "text": "peep"}, "Peeped")
        self.close(parent, dict(task, summary="peep"), "Asked a chick")
        self.say("That was all.")

    def do_tool(self, arguments):
        tool = self.tools[0]["name"]
        item = {"kind": "tool", "tool": tool, "server": None, "arguments": {"said": arguments}, "intent": "generic",
                "result": None, "error": None, "durationMs": None, "approval": None}
        key = self.open(item, "Calling")
        result = self.bridge.call(
            self, "tool/call", threadId=self.thread, providerThreadId=self.kept["id"], requestKey=key["providerItemId"],
            turnKey=self.turn, itemKey=key, tool=tool, arguments={"said": arguments})
        said = "\n".join(part.get("text", "") for part in result["content"])
        self.close(key, dict(item, **{"result" if result["success"] else "error": said}), "Called",
                   "completed" if result["success"] else "failed")
        self.say(said)

    def request(self, request):
        return self.bridge.call(
            self, "interaction/request", threadId=self.thread, providerThreadId=self.kept["id"],
            requestKey="request-%s" % secrets.token_hex(4), scope="turn", turnKey=self.turn, request=request)

    def do_ask(self, _):
        answer = self.request({"kind": "question", "questions": [
            {"id": "seed", "prompt": "Which seed?", "shortLabel": None, "multiSelect": False, "allowFreeText": False,
             "options": [{"value": "sunflower", "label": "Sunflower", "description": None},
                         {"value": "hemp", "label": "Hemp", "description": None}]}]})
        self.say("You want " + " and ".join(answer["answers"]["seed"]["selected"]))

    def do_approve(self, _):
        item = {"kind": "command", "command": "fly", "cwd": None, "intent": "terminal", "actions": [],
                "output": None, "exitCode": None, "durationMs": None, "approval": "waiting"}
        key = self.open(item, "Waiting")
        answer = self.request({
            "kind": "approval", "reason": "Wings", "decisions": ["allow_once", "deny"],
            "subject": {"kind": "command", "itemKey": key, "command": "fly", "cwd": None, "actions": [],
                        "sessionGrant": None}})
        if answer["decision"] == "deny":
            self.close(key, dict(item, approval="denied"), "Stayed", "failed")
        else:
            self.close(key, dict(item, approval=None, exitCode=0), "Flew")
        self.say("The answer was " + answer["decision"])

    def do_slow(self, _):
        key = self.open({"kind": "message", "text": ""}, "Chattering")
        self.send(self.scoped("item.text", key=key, stream="text", text="..."))
        self.open_items[-1] = (key, {"kind": "message", "text": "..."})
        self.stopped.wait()
        raise Interrupted


def main():
    parser = argparse.ArgumentParser(description="A provider bridge that speaks the bridge protocol on standard input and output.")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="full", help="what the bridge can do")
    parser.add_argument("--state", help="the directory in which sessions are kept")
    args = parser.parse_args()
    state = args.state or os.environ.get("BB_PLUGIN_DATA_DIR") or os.path.join(
        tempfile.gettempdir(), "bb-parrot-%s" % getattr(os, "getuid", int)())
    Bridge(args.profile, State(state)).run()


if __name__ == "__main__":
    main()
