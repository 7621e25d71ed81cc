"use strict";
(() => {
  // ---- Light and dark -------------------------------------------------------------------------
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const remembered = (value) => {
    try {  // a page from a file may have no storage
      if (value) localStorage.setItem("coevo-theme", value);
      return localStorage.getItem("coevo-theme");
    } catch { return null; }
  };
  const showTheme = () => {
    theme.setAttribute("aria-pressed", String(isDark()));
  };
  const before = remembered();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  showTheme();
  system.addEventListener("change", showTheme);
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remembered(root.dataset.theme);
    showTheme();
  });

  // ---- One curve brought out in all charts ----------------------------------------------------
  const focus = [...document.querySelectorAll("[data-focus]")];
  for (const button of focus) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      for (const other of focus) other.setAttribute("aria-pressed", String(on && other === button));
      document.body.classList.toggle("focused", on);
      for (const curve of document.querySelectorAll(".series")) {
        curve.classList.toggle("chosen", on && curve.dataset.series === button.dataset.focus);
      }
    });
  }

  // ---- Text of agents is data: it becomes text nodes and nothing else -------------------------
  const el = (name, attributes, ...inside) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...inside.filter((part) => part !== null && part !== undefined));
    return made;
  };
  const UNSEEN = /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Cs})\1*/gu;
  const code = (c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

  /** Give nodes for a text: characters that are not seen, or turn others around, are named. */
  const shown = (value) => {
    const [text, more] = Array.isArray(value) ? value : [value ?? "", 0];
    const nodes = [];
    let done = 0;
    for (const found of text.matchAll(UNSEEN)) {
      nodes.push(text.slice(done, found.index));
      const times = found[0].length / found[1].length;
      nodes.push(el("span", { class: "control" }, code(found[1]) + (times > 1 ? " ×" + times : "")));
      done = found.index + found[0].length;
    }
    nodes.push(text.slice(done));
    if (more) nodes.push(el("span", { class: "cut" }, ` … ${more.toLocaleString("en")} more characters in the file`));
    return nodes;
  };
  const plain = (value) => (Array.isArray(value) ? value[0] : value);
  const number = (value) => {
    if (typeof value !== "number") return value === null || value === undefined ? "–" : String(value);
    const text = Number.isInteger(value) ? String(value) : value.toFixed(3);
    return (value > 0 ? "+" : "") + text.replace("-", "−");
  };

  // ---- Episodes -------------------------------------------------------------------------------
  const { group, episodes } = JSON.parse(document.getElementById("episodes-index").textContent);
  if (!episodes.length || !document.getElementById("browser")) return;
  const lines = document.getElementById("episodes-data").textContent.trim().split("\n");
  const parsed = new Map();
  const transcript = (i) => {
    if (!parsed.has(i)) parsed.set(i, JSON.parse(lines[i]));
    return parsed.get(i);
  };

  const FACETS = [["outcome", "Outcome"], ["environment", "Environment"], ["algorithm", group[0].toUpperCase() + group.slice(1)], ["seed", "Seed"]];
  const state = { outcome: "", environment: "", algorithm: "", seed: "", from: "", to: "", episode: "0" };
  const byName = new Intl.Collator("en", { numeric: true }).compare;
  const known = Object.fromEntries(FACETS.map(([key]) => [key, [...new Set(episodes.map((p) => p[key]))]]));
  for (const key of ["outcome", "seed"]) known[key].sort(byName);  // the others have an order of their own
  const values = (key) => known[key];
  const fits = (p, without) => FACETS.every(([key]) => key === without || !state[key] || p[key] === state[key])
    && (state.from === "" || p.step >= Number(state.from))
    && (state.to === "" || p.step <= Number(state.to));
  const chosen = () => episodes.map((_, i) => i).filter((i) => fits(episodes[i]));

  const remember = () => {
    const kept = Object.entries(state).filter(([key, value]) => value !== "" && !(key === "episode" && value === "0"));
    const hash = new URLSearchParams(kept).toString();
    try {  // some browsers limit how often
      history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
    } catch { /* the state is not kept */ }
  };
  const recall = () => {
    if (!location.hash.includes("=")) return false;
    const given = new URLSearchParams(location.hash.slice(1));
    for (const key of Object.keys(state)) state[key] = given.get(key) ?? (key === "episode" ? "0" : "");
    for (const [key] of FACETS) if (!values(key).includes(state[key])) state[key] = "";
    for (const key of ["from", "to"]) if (!/^\d+$/.test(state[key])) state[key] = "";
    if (!(Number(state.episode) in episodes)) state.episode = "0";
    return true;
  };

  const form = document.getElementById("filters");
  const controls = {};
  const change = (key, value) => { state[key] = value; update(); };

  const chips = (key, label) => {
    const box = el("div", { class: "chips" });
    for (const value of ["", ...values(key)]) {
      const button = el("button", { type: "button", "data-value": value }, value === "" ? "all" : value, el("span", { class: "count" }));
      button.addEventListener("click", () => change(key, state[key] === value ? "" : value));
      box.append(button);
    }
    controls[key] = () => {
      for (const button of box.children) {
        const value = button.dataset.value;
        const count = episodes.filter((p) => fits(p, key) && (value === "" || p[key] === value)).length;
        button.setAttribute("aria-pressed", String(state[key] === value));
        button.lastChild.textContent = count;
      }
    };
    return el("fieldset", { id: "filter-" + key }, el("legend", {}, label), box);
  };
  const menu = (key, label) => {
    const select = el("select", { id: "filter-" + key }, el("option", { value: "" }, "all"), ...values(key).map((v) => el("option", { value: v }, v)));
    select.addEventListener("change", () => change(key, select.value));
    controls[key] = () => { select.value = state[key]; };
    return el("label", {}, label, select);
  };
  const bound = (key, label, hint) => {
    const input = el("input", { id: "filter-" + key, type: "number", min: 0, inputmode: "numeric", placeholder: hint });
    input.addEventListener("input", () => change(key, /^\d+$/.test(input.value) ? input.value : ""));
    controls[key] = () => { if (input.value !== state[key]) input.value = state[key]; };
    return el("label", {}, label, input);
  };

  const list = document.getElementById("list");
  const described = (p) => [
    ...FACETS.slice(1).filter(([key]) => values(key).length > 1).map(([key]) => (key === "seed" ? "seed " : "") + p[key]),
    p.step ? "update " + p.step : null,
    p.turns + (p.turns === 1 ? " turn" : " turns"),
  ].filter(Boolean).join(" · ");
  const entries = episodes.map((p, i) => {
    const button = el("button", { type: "button" }, p.outcome, el("small", {}, described(p)));
    button.addEventListener("click", () => change("episode", String(i)));
    return el("li", {}, button);
  });

  let order = [];
  const update = (keep = true) => {
    order = chosen();
    if (!order.includes(Number(state.episode)) && order.length) state.episode = String(order[0]);
    for (const draw of Object.values(controls)) draw();
    document.getElementById("found").textContent = `${order.length} of ${episodes.length} episodes`;
    list.replaceChildren(...order.map((i) => entries[i]));
    for (const i of order) entries[i].firstChild.setAttribute("aria-current", String(i === Number(state.episode)));
    read();
    if (keep) remember();
  };

  const at = () => order.indexOf(Number(state.episode));
  const go = (by) => {
    const next = order[at() + by];
    if (next === undefined) return;
    state.episode = String(next);
    for (const i of order) entries[i].firstChild.setAttribute("aria-current", String(i === next));
    read();
    remember();
  };

  // ---- One episode ----------------------------------------------------------------------------
  const article = document.getElementById("episode");
  const previous = document.getElementById("previous");
  const next = document.getElementById("next");

  const read = () => {
    previous.disabled = at() <= 0;
    next.disabled = at() >= order.length - 1;
    if (!order.length) {
      article.replaceChildren(el("p", { class: "note" }, "No episode fits these filters."));
      return;
    }
    const i = Number(state.episode), p = episodes[i], full = transcript(i);
    const most = Math.max(...full.turns.map((t) => Math.abs(Number(t.advantage) || 0)), 0);
    const last = {};
    article.replaceChildren(
      el("h3", {}, p.outcome),
      el("p", { class: "note" }, [values("environment").length > 1 ? "" : full.env, described(p), p.where].filter(Boolean).join(" · ")),
      full.note && plain(full.note) ? el("p", { class: "text", dir: "auto" }, ...shown(full.note)) : "",
      totals(full),
      ...full.turns.map((turn, k) => card(full, turn, k, last, most)),
    );
    const current = entries[i].firstChild;
    const above = current.offsetTop - list.offsetTop;
    if (above < list.scrollTop || above + current.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = above - list.clientHeight / 3;
    }
  };

  const rewardTable = (caption, agents, table, sum) => {
    const names = Object.keys(table);
    if (!names.length) return "";
    const cells = (name, of) => el("tr", {}, el("th", { scope: "row" }, name), ...agents.map((a) => el("td", { class: "number" }, number(of(a)))));
    const rows = names.map((name) => cells(name, (a) => table[name][a]));
    if (sum && names.length > 1) {
      rows.push(cells("all", (a) => names.reduce((s, name) => s + (Number(table[name][a]) || 0), 0)));
    }
    return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption }, el("table", {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "component"), ...agents.map((a) => el("th", { scope: "col", class: "number" }, a)))),
      el("tbody", {}, ...rows)));
  };
  const totals = (full) => rewardTable("Rewards of the whole episode", full.agents, full.totals, true);

  const message = ([role, content]) => el("div", { class: "message" }, el("b", {}, role), el("p", { class: "text", dir: "auto" }, ...shown(content)));

  const FAULTS = { illegal: "not a legal move", unparsable: "no move found" };
  const card = (full, turn, k, last, most) => {
    const seen = last[turn.agent] || [];
    let common = 0;
    while (common < seen.length && seen[common] === turn.chat[common]) common += 1;
    let fresh = turn.chat.slice(common);
    if (common && full.messages[fresh[0]]?.[0] === "assistant") fresh = fresh.slice(1);  // its own reply
    last[turn.agent] = turn.chat;
    const fault = FAULTS[turn.status];
    const played = turn.move === null ? null : plain(turn.move);
    const player = turn.player ? [...shown(turn.player), turn.version >= 0 ? ` after ${turn.version} updates` : ""] : [];
    return el("section", { class: turn.agent === full.agents[0] ? "turn first" : "turn" },
      el("h4", {}, `${k + 1}. ${turn.agent}`, el("span", {}, ...player),
        el("span", { class: fault ? "status fault" : "status" }, fault || "legal")),
      el("p", { class: "label" }, "reads"),
      el("div", { class: "read", tabindex: 0, role: "region", "aria-label": `what ${turn.agent} reads` }, ...fresh.map((m) => el("p", { class: "text", dir: "auto" }, ...shown(full.messages[m][1])))),
      turn.chat.length > fresh.length ? whole(full, turn) : "",
      el("p", { class: "label" }, turn.tokens === null ? "says" : `says, in ${turn.tokens} tokens`),
      el("p", { class: "said text", dir: "auto", tabindex: 0 }, ...shown(turn.text)),
      fault ? el("p", { class: "label" }, turn.move === null ? "nothing is played" : "played instead: ", turn.move === null ? "" : el("bdi", {}, ...shown(turn.move))) : "",
      moves(turn, played),
      rewardTable("Rewards", full.agents, turn.rewards, false),
      advantage(turn, most));
  };
  const whole = (full, turn) => {
    const box = el("details", {}, el("summary", {}, `The whole chat that it saw, ${turn.chat.length} messages`));
    box.addEventListener("toggle", () => {
      if (box.open && box.children.length === 1) box.append(...turn.chat.map((m) => message(full.messages[m])));
    });
    return box;
  };
  const moves = (turn, played) => {
    if (turn.legal === null) return "";
    const items = turn.legal.map((move) => el("li", { class: plain(move) === played ? "played" : null }, ...shown(move)));
    if (turn.more) items.push(el("li", {}, `${turn.more} more`));
    return el("div", {}, el("p", { class: "label" }, "legal moves, the one played marked"), el("ul", { class: "moves" }, ...items));
  };
  const advantage = (turn, most) => {
    if (turn.advantage === null) return "";
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 112 11");
    svg.setAttribute("aria-hidden", "true");
    const rect = (x, width, fill) => {
      const made = document.createElementNS(svg.namespaceURI, "rect");
      for (const [key, value] of Object.entries({ x, y: 0, width, height: 11, fill })) made.setAttribute(key, value);
      svg.append(made);
    };
    const size = most ? (55 * Math.abs(Number(turn.advantage) || 0)) / most : 0;
    rect(turn.advantage < 0 ? 56 - size : 56, size, turn.advantage < 0 ? "var(--series-1)" : "var(--series-0)");
    rect(55.5, 1, "var(--muted)");
    return el("div", { class: "advantage" }, el("span", {}, `advantage ${number(turn.advantage)}`), svg);
  };

  // ---- Start ----------------------------------------------------------------------------------
  for (const [key, label] of FACETS) {
    const count = values(key).length;
    if (count > 1) form.append(key === "outcome" || count <= 8 && key !== "seed" ? chips(key, label) : menu(key, label));
  }
  const steps = episodes.map((p) => p.step);
  const [low, high] = [Math.min(...steps), Math.max(...steps)];
  if (high > low) form.append(bound("from", "From update", low), bound("to", "To update", high));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = document.getElementById("browser").hidden = false;
  document.getElementById("without-script").hidden = true;
  previous.addEventListener("click", () => go(-1));
  next.addEventListener("click", () => go(1));
  document.addEventListener("keydown", (event) => {
    const from = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || from.closest("input, select, textarea")) return;
    if (from !== document.body && from.id !== "main" && !from.closest("#episodes")) return;
    const by = { ArrowRight: 1, j: 1, ArrowLeft: -1, k: -1 }[event.key];
    const scrolls = event.key.startsWith("Arrow") && from.closest(".wide, .read, .said");
    if (by && !scrolls) { event.preventDefault(); go(by); }
  });
  addEventListener("hashchange", () => { if (recall()) update(false); });
  const linked = recall();
  update(false);
  if (linked) document.getElementById("episodes").scrollIntoView();
})();
