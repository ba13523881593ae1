"use strict";
// The map of endpoints. Rows come by one stream; only those in sight are in the document, so many stay smooth.

const ROW = 56;
const NEVER = "1970-01-01T00:00:00Z"; // the transition time of a default, before any controller has judged
const MARKS = { True: "✓", False: "✗", Missing: "✗", Unknown: "?", Hidden: "·" };
const ORDER = { False: 0, Missing: 0, Unknown: 1, True: 2, Hidden: 3 };
const at = (id) => document.getElementById(id);
const rows = new Map(); // id → row
let shown = []; // the rows that pass the filters, in order
let current = null; // the object whose page is open
const off = new Set(); // truths that are filtered out

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// ---- the token of the user

const token = () => sessionStorage.getItem("token");

function login(error = "") {
  at("login").hidden = false;
  at("map").hidden = at("filters").hidden = at("detail").hidden = true;
  at("login-error").textContent = error;
  at("token").focus();
}

at("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", at("token").value.trim());
  at("token").value = "";
  follow();
});

function ask(path, signal) {
  return fetch(path, { headers: { Authorization: `Bearer ${token()}` }, signal });
}

// ---- the stream

let following = 0;

async function follow() {
  const turn = ++following;
  let pause = 500;
  while (turn === following) {
    try {
      const answer = await ask("api/stream");
      if (answer.status === 401) {
        sessionStorage.removeItem("token");
        return login("The cluster does not know this token. It may have expired.");
      }
      if (!answer.ok) throw new Error(`the console answered ${answer.status}`);
      at("login").hidden = true;
      at("map").hidden = at("filters").hidden = false;
      pause = 500;
      await read(answer.body.getReader(), turn);
    } catch (error) {
      at("live").textContent = "reconnecting …";
    }
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, 10000);
  }
}

async function read(reader, turn) {
  const decoder = new TextDecoder();
  let rest = "";
  while (turn === following) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const whole = rest.split("\n\n");
    rest = whole.pop();
    for (const block of whole) handle(block);
  }
}

function handle(block) {
  const event = /^event: (.*)$/m.exec(block);
  if (!event) return;
  const data = JSON.parse(block.slice(block.indexOf("data: ") + 6));
  if (event[1] === "all") rows.clear();
  for (const id of data.gone || []) rows.delete(id);
  for (const row of data.rows) {
    row.text = text(row);
    rows.set(row.id, row);
  }
  leaders(data.stopped || []);
  at("live").textContent = data.ready ? `live · ${data.person}` : "reading the cluster …";
  choices("namespace", "namespace");
  choices("family", "family");
  filter();
  if (current && (event[1] === "all" || touched(data))) open(current.kind, current.namespace, current.name, false);
}

// Without a leader the statuses stay as they are: the page says since when.
function leaders(stopped) {
  const lines = stopped.map((group) => element("p", {}, `No operator leads ${group.families.length ? `${group.families.join(", ")} ` : ""}since `, element("time", { datetime: group.asOf }, group.asOf), ". What is shown is as of then."));
  at("leaders").replaceChildren(...lines);
  at("leaders").hidden = !stopped.length;
}

function touched(data) {
  return data.rows.some((row) => same(row, current) || row.hops.some((hop) => same(hop, current)));
}

const same = (left, right) => left.kind === right.kind && left.namespace === right.namespace && left.name === right.name;

function text(row) {
  const texts = [row, ...row.hops].map((cell) => `${cell.kind} ${cell.namespace}/${cell.name} ${cell.words || ""}`);
  return `${row.family} ${texts.join(" ")}`.toLowerCase();
}

// ---- filters

function choices(id, field) {
  const select = at(id);
  const values = [...new Set([...rows.values()].map((row) => row[field]))].sort();
  const have = [...select.options].slice(1).map((option) => option.value);
  if (values.join("\n") === have.join("\n")) return;
  const chosen = select.value;
  while (select.options.length > 1) select.remove(1);
  for (const value of values) select.append(element("option", { value }, value || "(cluster)"));
  select.value = values.includes(chosen) ? chosen : "";
}

function filter() {
  const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const namespace = at("namespace").value;
  const family = at("family").value;
  const counts = { True: 0, False: 0, Unknown: 0 };
  shown = [];
  for (const row of rows.values()) {
    if (namespace && row.namespace !== namespace) continue;
    if (family && row.family !== family) continue;
    if (!words.every((word) => row.text.includes(word))) continue;
    const truth = summary(row);
    counts[truth] += 1;
    if (!off.has(truth)) shown.push(row);
  }
  shown.sort((a, b) => ORDER[summary(a)] - ORDER[summary(b)] || (a.id < b.id ? -1 : 1));
  toggles(counts);
  at("empty").hidden = shown.length > 0;
  at("empty").textContent = rows.size
    ? "No endpoint fits these filters."
    : "There is no endpoint here yet that you may see. Apply one of the examples, and watch it appear.";
  at("rows").style.height = `${shown.length * ROW}px`;
  draw(true);
}

// An endpoint's truth is the worst of its own and those of its hops.
function summary(row) {
  if (row.worst) return row.worst;
  const truths = [row, ...row.hops].map((cell) => cell.truth);
  row.worst = truths.some((truth) => truth === "False" || truth === "Missing") ? "False" : truths.includes("Unknown") ? "Unknown" : "True";
  return row.worst;
}

function toggles(counts) {
  const group = at("truths");
  if (!group.children.length) {
    for (const truth of Object.keys(counts)) {
      const button = element("button", { type: "button", class: truth, "aria-pressed": "true", "data-truth": truth });
      button.addEventListener("click", () => {
        off.has(truth) ? off.delete(truth) : off.add(truth);
        filter();
      });
      group.append(button);
    }
  }
  for (const button of group.children) {
    const truth = button.dataset.truth;
    button.setAttribute("aria-pressed", String(!off.has(truth)));
    button.textContent = `${MARKS[truth]} ${counts[truth]} ${truth.toLowerCase()}`;
  }
}

for (const id of ["search", "namespace", "family"]) at(id).addEventListener("input", filter);

// ---- rows in sight

let drawn = "";

function draw(force = false) {
  const scroll = at("scroll");
  const first = Math.max(0, Math.floor(scroll.scrollTop / ROW) - 5);
  const last = Math.min(shown.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / ROW) + 5);
  const span = `${first}-${last}`;
  if (!force && span === drawn) return;
  drawn = span;
  const focused = document.activeElement && document.activeElement.dataset.id;
  at("rows").replaceChildren(...shown.slice(first, last).map((row, offset) => line(row, first + offset)));
  if (focused) at("rows").querySelector(`a[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function line(row, index) {
  const href = `#/${row.kind}/${row.namespace}/${row.name}`;
  const truth = summary(row);
  const chips = row.hops.flatMap((hop) => [element("span", { class: "step", "aria-hidden": "true" }, hop.depth > 1 ? "›" : "→"), chip(hop)]);
  const cause = [row, ...row.hops].find((cell) => cell.cause);
  const end = element("div", { class: "end" },
    element("strong", {}, element("span", { class: `mark inline ${truth}` }, MARKS[truth]), row.name),
    element("span", {}, `${row.kind} · ${row.namespace}`));
  const way = element("div", { class: "way" }, element("div", { class: "chips" }, ...chips),
    cause && cause.words ? element("div", { class: "message" }, cause === row ? cause.words : `${cause.kind}: ${cause.words}`) : null);
  const label = `${row.kind} ${row.namespace}/${row.name}: ${truth}${cause ? `, because of ${cause.kind} ${cause.name}` : ""}`;
  const link = element("a", { href, "data-id": row.id, "aria-label": label, "aria-current": current && same(row, current) ? "true" : undefined }, end, way);
  const made = element("li", { class: "row" }, link);
  made.style.top = `${index * ROW}px`;
  return made;
}

function chip(hop) {
  const name = hop.truth === "Hidden" ? hop.kind : `${hop.kind} ${hop.name}`;
  return element("span", { class: `chip ${hop.truth}${hop.cause ? " cause" : ""}`, title: `${hop.how || ""} ${hop.words || ""}`.trim() || undefined }, `${MARKS[hop.truth]} ${name}`);
}

at("scroll").addEventListener("scroll", () => requestAnimationFrame(() => draw()), { passive: true });
window.addEventListener("resize", () => draw(true));

// ---- one object

async function open(kind, namespace, name, focus = true) {
  current = { kind, namespace, name };
  const query = new URLSearchParams(current);
  const answer = await ask(`api/object?${query}`);
  if (!current || !same(current, { kind, namespace, name })) return;
  const panel = at("detail");
  const detail = await answer.json();
  const close = element("button", { type: "button", class: "close", "aria-label": "Close" }, "✕");
  close.addEventListener("click", shut);
  const title = element("h2", { tabindex: "-1" }, `${kind} ${namespace ? `${namespace}/` : ""}${name}`);
  panel.replaceChildren(close, title, ...(answer.ok ? page(detail) : [element("p", { class: "outcome False" }, detail.error)]));
  panel.hidden = false;
  if (focus) title.focus();
  draw(true);
}

function shut() {
  const id = current && [...rows.values()].find((row) => same(row, current))?.id;
  current = null;
  at("detail").hidden = true;
  history.replaceState(null, "", "#");
  draw(true);
  if (id) at("rows").querySelector(`a[data-id="${CSS.escape(id)}"]`)?.focus();
}

function page(detail) {
  const parts = [];
  if (detail.tree) {
    const cause = firstBroken(detail.tree);
    const sentence = cause ? `The first broken hop is ${cause.kind} ${cause.name}: ${cause.words}${cause.fix ? `. What may help: ${cause.fix}` : ""}` : asOf(detail.tree) ? `No status shows a problem as of ${asOf(detail.tree)}; since then no operator leads.` : "Nothing is broken.";
    parts.push(element("p", { class: `outcome ${cause ? cause.truth : asOf(detail.tree) ? "Unknown" : "True"}` }, sentence));
    parts.push(element("h3", {}, "Why"), element("ul", { class: "tree" }, branch(detail.tree)));
  }
  parts.push(element("h3", {}, "Over time"), ...timeline(detail));
  parts.push(element("h3", {}, "Events"), events(detail.events));
  parts.push(element("h3", {}, "Manifest"), element("pre", { tabindex: "0", "aria-label": "Manifest" }, yaml(detail.manifest).trimStart()));
  return parts;
}

// The oldest time that a status in a tree is of, if its operator does not lead.
const asOf = (hop) => [hop.asOf, ...hop.hops.map(asOf)].filter(Boolean).sort()[0] || "";
const broken = (hop) => ["False", "Unknown", "Missing"].includes(hop.truth);

function firstBroken(hop) {
  for (const below of hop.hops) {
    const found = firstBroken(below);
    if (found) return found;
  }
  return broken(hop) ? hop : null;
}

function branch(hop) {
  const conditions = hop.conditions.map((condition) => element("div", { class: "conditions" },
    element("span", { class: condition.good ? "" : "mark" }, `${condition.type}${condition.about ? ` of ${condition.about}` : ""} = ${condition.status} ${condition.reason}`),
    condition.message ? `: ${condition.message}` : "",
    element("span", { class: "how" }, ` ${[age(condition.lastTransitionTime), condition.writer && `by ${condition.writer}`].filter(Boolean).join(", ")}`),
    condition.meaning ? element("div", { class: "meaning" }, condition.meaning) : null));
  const name = hop.truth === "Hidden" ? `${hop.kind} (you may not read it)` : `${hop.kind} ${hop.namespace ? `${hop.namespace}/` : ""}${hop.name}`;
  return element("li", {},
    element("span", { class: `chip ${hop.truth}` }, `${MARKS[hop.truth]} ${name}`),
    element("span", { class: "how" }, ` ${hop.how || ""}${broken(hop) && hop.words ? ` — ${hop.words}` : ""}${hop.asOf ? ` (as of ${hop.asOf})` : ""}`),
    ...conditions,
    ...(hop.evidence || []).map((line) => element("div", { class: "conditions how" }, `evidence: ${line}`)),
    hop.hops.length ? element("ul", {}, ...hop.hops.map(branch)) : null);
}

function timeline(detail) {
  const conditions = detail.tree ? detail.tree.conditions : [];
  if (!conditions.length) return [element("p", { class: "how" }, "It has no conditions.")];
  const now = Date.now() / 1000;
  return conditions.map((condition) => {
    const flips = detail.flips.filter((flip) => flip.type === condition.type);
    const judged = condition.lastTransitionTime !== NEVER;
    const since = judged ? Date.parse(condition.lastTransitionTime) / 1000 : now - 60;
    const begin = Math.min(flips.length ? flips[0].at - 60 : since, now - 60);
    const points = [{ at: begin, status: flips.length ? flips[0].before : condition.status }, ...flips.map((flip) => ({ at: flip.at, status: flip.after }))];
    const bars = points.map((point, index) => {
      const end = index + 1 < points.length ? points[index + 1].at : now;
      const bar = element("span", { class: `bar ${point.status}`, title: `${point.status} from ${new Date(point.at * 1000).toLocaleString()}` });
      bar.style.flexGrow = String(Math.max(end - point.at, 1));
      return bar;
    });
    const summary = `${condition.type}: ${judged ? `${condition.status} for ${age(condition.lastTransitionTime)}` : "not yet judged"}; ${flips.length} ${flips.length === 1 ? "flip" : "flips"} seen`;
    return element("div", {}, element("div", { class: "how" }, summary), element("div", { class: "timeline", role: "img", "aria-label": summary }, ...bars));
  });
}

function events(list) {
  if (!list.length) return element("p", { class: "how" }, "None.");
  const head = element("tr", {}, ...["When", "Type", "Reason", "Message"].map((name) => element("th", { scope: "col" }, name)));
  const body = list.slice(-30).reverse().map((event) => element("tr", {},
    element("td", {}, age(event.at) + (event.count > 1 ? ` ×${event.count}` : "")), element("td", {}, event.type || ""), element("td", {}, event.reason || ""), element("td", {}, event.note || "")));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}

function age(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (!(seconds >= 0)) return "";
  if (time === NEVER) return "default, not yet judged";
  for (const [size, letter] of [[86400, "d"], [3600, "h"], [60, "m"]]) if (seconds >= 2 * size) return `${Math.floor(seconds / size)}${letter}`;
  return `${Math.floor(seconds)}s`;
}

// Enough of YAML to read a manifest by: what needs quotes gets them as JSON has them.
function yaml(value, indent = "") {
  if (Array.isArray(value)) {
    if (!value.length) return " []";
    return "\n" + value.map((item) => `${indent}- ${yaml(item, `${indent}  `).replace(/^\n\s*/, "").replace(/^ /, "")}`).join("\n");
  }
  if (value && typeof value === "object") {
    const entries = Object.entries(value);
    if (!entries.length) return " {}";
    return "\n" + entries.map(([key, item]) => `${indent}${key}:${yaml(item, Array.isArray(item) ? indent : `${indent}  `)}`).join("\n");
  }
  if (typeof value === "string" && value.includes("\n")) return ` |\n${value.replace(/^/gm, indent)}`;
  const plain = typeof value !== "string" || (/^[A-Za-z0-9_./-][A-Za-z0-9 _.,()/:=@+-]*$/.test(value) && !/^(true|false|null|yes|no|~|[\d.+-]+)$/i.test(value) && !value.includes(": "));
  return ` ${plain ? value : JSON.stringify(value)}`;
}

// ---- the way around

function route() {
  const given = /^#token=(.+)$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem("token", decodeURIComponent(given[1]));
    history.replaceState(null, "", "#");
    return;
  }
  const parts = location.hash.split("/");
  if (parts.length === 4) open(parts[1], parts[2], decodeURIComponent(parts[3]));
  else if (current) shut();
}

document.addEventListener("keydown", (event) => {
  const typing = /INPUT|SELECT|TEXTAREA/.test(event.target.tagName);
  if (event.key === "Escape") {
    if (current) shut();
    else if (typing) event.target.blur();
  } else if (event.key === "/" && !typing) {
    event.preventDefault();
    at("search").focus();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.tagName !== "SELECT") {
    step(event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
  }
});

function step(by) {
  const id = document.activeElement && document.activeElement.dataset.id;
  const index = Math.max(0, Math.min(shown.length - 1, id ? shown.findIndex((row) => row.id === id) + by : 0));
  if (!shown.length) return;
  const scroll = at("scroll");
  if (index * ROW < scroll.scrollTop) scroll.scrollTop = index * ROW;
  if ((index + 1) * ROW > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = (index + 1) * ROW - scroll.clientHeight;
  draw(true);
  at("rows").querySelector(`a[data-id="${CSS.escape(shown[index].id)}"]`)?.focus({ preventScroll: true });
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("theme", name);
}

at("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
theme(localStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
window.addEventListener("hashchange", () => {
  const before = token();
  route();
  if (token() !== before) follow();
});
route();
if (token()) follow();
else login();
