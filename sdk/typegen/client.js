export class BbError extends Error {
  constructor(status, callId, failure) {
    super(`${failure.code}: ${failure.message}`);
    this.name = "BbError";
    this.code = failure.code;
    this.issues = failure.issues ?? [];
    this.details = failure.details ?? {};
    this.retryable = failure.retryable ?? false;
    this.status = status;
    this.callId = callId;
  }
}

// encode is JSON.stringify that takes bigints.
function encode(value) {
  const mark = crypto.randomUUID();
  const text = JSON.stringify(value, (_, v) => (typeof v === "bigint" ? mark + v : v));
  return text === undefined ? "{}" : text.replaceAll(new RegExp(`"${mark}(-?[0-9]+)"`, "g"), "$1");
}

// decode is JSON.parse that keeps integers beyond 2^53 exact, as bigints.
function decode(text) {
  const mark = crypto.randomUUID();
  let marked = false;
  const exact = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) => {
    if (!/^-?\d{16,}$/.test(token) || Number.isSafeInteger(Number(token))) return token;
    marked = true;
    return `"${mark}${token}"`;
  });
  if (!marked) return JSON.parse(text);
  return JSON.parse(exact, (_, v) => (typeof v === "string" && v.startsWith(mark) ? BigInt(v.slice(mark.length)) : v));
}

const cursors = new WeakMap();

export function cursorOf(item) {
  return (typeof item === "object" && item !== null && cursors.get(item)) || "";
}

export function connect(options = {}) {
  const variables = globalThis.process?.env ?? {};
  const base = (options.serverUrl ?? variables.BB_SERVER_URL ?? "http://127.0.0.1:38886").replace(/\/+$/, "");
  const token = options.token ?? variables.BB_TOKEN;
  const send = options.fetch ?? globalThis.fetch;
  const headers = { "X-BB-Client": "sdk/headless" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (options.context) {
    headers["x-bb-context"] = JSON.stringify(options.context).replace(/[\u007f-\uffff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
  }

  async function request(ref, kind, input, signal, since) {
    const [service, method] = ref.split(".");
    let url = `${base}/api/v1/${service}/${method}`;
    const init = { headers: { ...headers }, signal };
    if (kind === "mutation") {
      init.method = "POST";
      init.headers["Content-Type"] = "application/json";
      init.body = encode(input ?? {});
    } else if (input !== undefined) {
      url += "?$input=" + encodeURIComponent(encode(input));
    }
    if (since) init.headers["Last-Event-ID"] = since;
    let response;
    try {
      response = await send(url, init);
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const e = new BbError(0, "", { code: "service_unavailable", message: `no server answers at ${base}: bb-server starts one`, retryable: true });
      e.cause = cause;
      throw e;
    }
    if (response.status !== 200) throw await failure(response);
    return response;
  }

  async function failure(response) {
    const text = await response.text();
    let failed;
    try {
      failed = decode(text).error;
    } catch {}
    return new BbError(response.status, response.headers.get("Bb-Call-Id") ?? "",
      failed?.code ? failed : { code: "internal", message: `the server answered ${response.status}` });
  }

  function kindOf(ref) {
    const [service, method] = ref.split(".");
    const kind = methods[service]?.[method];
    if (!kind) throw new BbError(0, "", { code: "not_found", message: `there is no method ${ref}` });
    return kind;
  }

  async function call(ref, input, { signal } = {}) {
    const response = await request(ref, kindOf(ref), input, signal);
    return decode(await response.text()).result;
  }

  // stream yields the items. One that can be resumed goes on after a broken connection, for up to a minute without a server.
  async function* stream(ref, input, { signal, since = "" } = {}) {
    const resumable = kindOf(ref) === "resumable";
    let wait = 200;
    let lost = 0;
    for (;;) {
      let opened = false;
      try {
        const response = await request(ref, "stream", input, signal, since);
        opened = true;
        lost = 0;
        wait = 200;
        for await (const frame of frames(response.body)) {
          if (frame.event === "end") return;
          if (frame.event === "error") throw new BbError(200, response.headers.get("Bb-Call-Id") ?? "", decode(frame.data).error);
          if (frame.event !== "item") continue;
          const item = decode(frame.data);
          if (frame.id !== undefined) {
            since = frame.id;
            if (typeof item === "object" && item !== null) cursors.set(item, since);
          }
          yield item;
        }
        if (!resumable) throw new BbError(0, "", { code: "service_unavailable", message: `the stream of ${ref} broke off`, retryable: true });
      } catch (e) {
        if (signal?.aborted) throw signal.reason;
        const away = !(e instanceof BbError) || e.code === "service_unavailable";
        if (!resumable || !away || (!opened && lost === 0 && e.status === 0 && since === "")) throw e;
        lost ||= Date.now();
        if (Date.now() - lost > 60_000) throw e;
      }
      await new Promise((done) => setTimeout(done, wait));
      wait = Math.min(2 * wait, 5000);
    }
  }

  return {
    call,
    stream,
    service: (id) =>
      Object.fromEntries(Object.entries(methods[id] ?? {}).map(([method, kind]) => [
        method,
        (input, options) => (kind === "stream" || kind === "resumable" ? stream : call)(`${id}.${method}`, input, options),
      ])),
  };
}

// frames reads server-sent events.
async function* frames(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let frame = { event: "message", data: [] };
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (frame.data.length) yield { ...frame, data: frame.data.join("\n") };
          frame = { event: "message", data: [] };
          continue;
        }
        const [, name, text] = /^([^:]*):? ?(.*)$/s.exec(line);
        if (name === "event") frame.event = text;
        else if (name === "data") frame.data.push(text);
        else if (name === "id") frame.id = text;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
