// Plots and tables of records, and what the keyboard needs. A plot is an element with the class `whorl-chart`, whose attribute
// `data-chart` says which records it takes; a table is a `whorl-records` with the name of a file.
(() => {
  "use strict";

  // The search takes each word of a question as the beginning of others: "a" finds "array". So the
  // small words of a question (message 2 to the search's worker) are left out.
  const SMALL = new Set(("a an and any are as at be by can could do does for from how i if in into is it its " +
    "me my of on or should some that the there they this to was we what when where which who why will with would you your").split(" "));
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...others) {
    if (message?.type === 2 && typeof message.data === "string") {
      const words = message.data.split(/\s+/).filter((word) => !SMALL.has(word.toLowerCase().replace(/\W/g, "")));
      if (words.length > 0) message = { ...message, data: words.join(" ") };
    }
    return post.call(this, message, ...others);
  };

  const base = () => new URL(JSON.parse(document.getElementById("__config").textContent).base + "/", location);
  const files = new Map();

  // The records of a file, each with its file and line.
  function read(name) {
    if (!files.has(name)) {
      files.set(name, fetch(new URL(`records/${name}.jsonl`, base()))
        .then((answer) => answer.text())
        .then((text) => text.trim().split("\n").map((line, index) =>
          ({ ...JSON.parse(line), file: `bench/results/${name}.jsonl`, line: index + 1 }))));
    }
    return files.get(name);
  }

  const element = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };

  const shown = (value) => typeof value === "number" && !Number.isInteger(value)
    ? Number(value.toPrecision(6)).toString() : typeof value === "object" ? JSON.stringify(value) : String(value);

  // Members of records that have a value: what matters first, then all others.
  const FIRST = ["bench", "op", "scheme", "params", "device", "device_count", "threads", "batch",
    "transfers", "unit", "median", "min", "max", "runs", "peer", "peer_version", "peer_median",
    "ratio", "security_bits", "pfail_log2", "commit", "date", "file", "line"];
  const members = (...records) => [...new Set([...FIRST, ...records.flatMap(Object.keys)])]
    .filter((name) => records.some((record) => record[name] !== null && record[name] !== undefined));

  // A record as a dialogue.
  function show(record) {
    const dialogue = element("dialog", undefined, { class: "whorl-record", "aria-label": "Record" });
    const close = element("button", "Close", { class: "whorl-open", autofocus: "" });
    close.addEventListener("click", () => dialogue.close());
    const table = element("table");
    for (const name of members(record)) {
      table.insertRow().append(element("th", name, { scope: "row" }), element("td", shown(record[name])));
    }
    const frame = element("div", undefined, { class: "whorl-scroll", tabindex: "0" });
    frame.append(table);
    const file = record.file.replace("bench/results/", "");
    const link = element("a", "Open the file", { href: new URL(`records/${file}`, base()) });
    dialogue.append(element("h2", `${record.op}, ${record.file}, line ${record.line}`), frame, link, close);
    dialogue.addEventListener("close", () => dialogue.remove());
    dialogue.addEventListener("click", (event) => event.target === dialogue && dialogue.close());
    document.body.append(dialogue);
    dialogue.showModal();
  }

  function button(record, label) {
    const made = element("button", label, { class: "whorl-open", "aria-label": `Record of ${record.file}, line ${record.line}` });
    made.addEventListener("click", () => show(record));
    return made;
  }

  function tableOf(rows, columns) {
    const frame = element("div", undefined, { class: "whorl-scroll", tabindex: "0", role: "region", "aria-label": "Records" });
    const table = element("table");
    const head = table.createTHead().insertRow();
    for (const name of ["record", ...columns.map((column) => column.title)]) head.append(element("th", name, { scope: "col" }));
    const body = table.createTBody();
    for (const record of rows) {
      const row = body.insertRow();
      row.insertCell().append(button(record, `${record.line}`));
      for (const column of columns) {
        const value = column.value(record);
        row.insertCell().textContent = value === null || value === undefined ? "" : shown(value);
      }
    }
    frame.append(table);
    return frame;
  }

  // A member, or what a pattern finds in a member: "batch", or {"params": "depth=(\\d+)"}.
  function pick(record, what) {
    if (typeof what === "string") return record[what];
    const [[member, pattern]] = Object.entries(what);
    const found = String(record[member]).match(new RegExp(pattern));
    return found ? (isNaN(found[1]) ? found[1] : Number(found[1])) : null;
  }

  const QUANTITIES = {
    rate: (record, name) => record.unit === "1/s" ? record[name] : record.batch / record[name],
    each: (record, name) => record[name] / record.batch,
  };
  function quantity(record, y, name = "median") {
    if (record[name] === null || record[name] === undefined) return null;
    return QUANTITIES[y] ? QUANTITIES[y](record, name) : record[name];
  }
  const measured = (record, y) => QUANTITIES[y] || y === "median" ? quantity(record, y) : record[y];

  const fits = (record, where) => Object.entries(where).every(([name, wanted]) =>
    (Array.isArray(wanted) ? wanted : [wanted]).includes(record[name] ?? null));

  let plotly;
  const loadPlotly = () => plotly ||= new Promise((done, failed) => {
    const script = element("script", undefined, { src: new URL("assets/plotly.min.js", base()) });
    script.addEventListener("load", () => done(window.Plotly));
    script.addEventListener("error", failed);
    document.head.append(script);
  });

  // Colours that are told apart by most people, in light and dark (Okabe and Ito, 2008).
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "star"];

  async function draw(place) {
    const spec = JSON.parse(place.dataset.chart);
    const records = (await Promise.all(spec.files.map(read))).flat().filter((record) => fits(record, spec.where));
    const lines = new Map();
    const used = [];
    const put = (record, name, y, low, high) => {
      const x = pick(record, spec.x);
      if (x === null || x === undefined || y === null || y === undefined || !isFinite(y)) return;
      if (!lines.has(name)) lines.set(name, []);
      lines.get(name).push({ x, y, low, high, record });
      if (!used.includes(record)) used.push(record);
    };
    for (const record of records) {
      const parts = spec.by.map((what) => pick(record, what)).filter((part) => part !== null && part !== undefined);
      const ends = spec.y === "median" || QUANTITIES[spec.y]
        ? [quantity(record, spec.y, "min"), quantity(record, spec.y, "max")] : [record.ratio_least, record.ratio_most];
      const [low, high] = ends.every((end) => typeof end === "number") ? [Math.min(...ends), Math.max(...ends)] : [];
      put(record, spec.also ? `Whorl: ${parts[0]}` : parts.join(", "), measured(record, spec.y), low, high);
      if (spec.also && record.peer) put(record, `${record.peer}: ${parts[0]}`, record[spec.also]);
    }
    const categories = [...lines.values()].flat().some((point) => typeof point.x === "string");
    const traces = [...lines].map(([name, points], index) => {
      if (!categories) points.sort((a, b) => a.x - b.x);
      const bars = points.map((point) => [point.high - point.y, point.y - point.low]);
      return {
        name, x: points.map((point) => point.x), y: points.map((point) => point.y),
        customdata: points.map((point) => point.record),
        type: "scatter", mode: spec.points || categories ? "markers" : "lines+markers",
        marker: { color: COLOURS[index % COLOURS.length], symbol: SYMBOLS[Math.floor(index / COLOURS.length) % SYMBOLS.length], size: 9 },
        line: { color: COLOURS[index % COLOURS.length] },
        error_y: { type: "data", symmetric: false, array: bars.map((bar) => isFinite(bar[0]) ? bar[0] : 0), arrayminus: bars.map((bar) => isFinite(bar[1]) ? bar[1] : 0) },
        hovertemplate: "%{x}: %{y:.4s}<extra>" + name + "</extra>",
      };
    });
    const Plotly = await loadPlotly();
    const narrow = place.clientWidth < 600;
    const style = getComputedStyle(document.body);
    const ink = style.getPropertyValue("--md-typeset-color") || style.color;
    const grid = "rgba(128, 128, 128, 0.3)";
    // Logarithmic where values differ by more than 8 times; with decades alone where by more than 30.
    const axis = (values) => {
      const ratio = values.every((value) => value > 0) ? Math.max(...values) / Math.min(...values) : 1;
      return ratio > 30 ? { type: "log", dtick: 1 } : { type: ratio > 8 ? "log" : "linear" };
    };
    const all = [...lines.values()].flat();
    const layout = {
      height: narrow ? 460 + 22 * traces.length : 480 + 20 * traces.length,
      margin: { l: 64, r: 12, t: 12, b: 56 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: ink, size: 13 }, hovermode: "closest",
      xaxis: { title: { text: spec.x_title, standoff: 12 }, gridcolor: grid, automargin: true, ...(categories ? {} : axis(all.map((point) => point.x))) },
      yaxis: { title: { text: spec.y_title }, gridcolor: grid, automargin: true, ...axis(all.map((point) => point.y)) },
      showlegend: true, legend: { orientation: "h", yref: "container", yanchor: "bottom", y: 0, x: 0, font: { size: narrow ? 10 : 12 } },
    };
    place.replaceChildren();
    await Plotly.newPlot(place, traces, layout, { responsive: true, displaylogo: false, displayModeBar: false });
    place.on("plotly_click", (event) => show(event.points[0].customdata));
    const details = element("details", undefined, { class: "whorl-below" });
    details.append(element("summary", `The ${used.length} records of this plot as a table`));
    details.addEventListener("toggle", () => details.open && details.childElementCount === 1 && details.append(tableOf(used, [
      { title: "file", value: (record) => record.file.replace("bench/results/", "") },
      { title: "operation", value: (record) => record.op }, { title: "parameters", value: (record) => record.params },
      { title: "batch", value: (record) => record.batch }, { title: "peer", value: (record) => record.peer },
      { title: spec.y_title, value: (record) => measured(record, spec.y) },
    ])));
    place.after(details);
  }

  // "?commit=99e9cda&op=nand#h200-gpu" asks for these records of a file, with all their members.
  const asked = {};
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (["commit", "op", "params", "design"].includes(name)) (asked[name] ||= []).push(value);
  }
  const first = location.hash;

  const named = (hash) => [...document.querySelectorAll(".whorl-records")]
    .find((each) => `#${each.dataset.file.replace("/", "-")}` === hash);

  async function fill(details) {
    if (details.childElementCount > 1) return;
    let names = ["op", "params", "device", "batch", "transfers", "unit", "median", "min", "max", "runs", "peer", "ratio", "commit", "date"];
    const all = await read(details.dataset.file);
    const records = details === named(first) ? all.filter((record) => fits(record, asked)) : all;
    if (records.length < all.length) {
      const there = members(...records);
      names = [...names.filter((name) => there.includes(name)),
        ...there.filter((name) => ![...names, "file", "line"].includes(name))];
      const what = Object.entries(asked).map(([name, values]) => `${name} ${values.join(", ")}`).join("; ");
      const note = element("p", `${records.length} of ${all.length} records: ${what}. `);
      note.append(element("a", "Show all", { href: location.pathname + first }));
      details.append(note);
    }
    details.append(tableOf(records, names.map((name) => ({ title: name, value: (record) => record[name] }))));
    if (records.length === 1 && all.length > 1) show(records[0]);
  }

  // "#h200-gpu" opens the table of a file.
  function openNamed() {
    const details = named(location.hash);
    if (details) details.open = true;
  }

  for (const details of document.querySelectorAll(".whorl-records")) {
    details.addEventListener("toggle", () => details.open && fill(details));
  }
  addEventListener("hashchange", openNamed);
  openNamed();

  // Tables that are wider than the page are scrolled by the keyboard, too. The theme frames them later.
  new MutationObserver((changes) => {
    for (const node of changes.flatMap((change) => [...change.addedNodes])) {
      if (node.classList?.contains("md-typeset__scrollwrap")) node.tabIndex = 0;
    }
  }).observe(document.querySelector(".md-content"), { childList: true, subtree: true });
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap")) frame.tabIndex = 0;

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      draw(entry.target).catch((error) => { entry.target.textContent = `The records could not be read: ${error}`; });
    }
  }, { rootMargin: "400px" });
  for (const place of document.querySelectorAll(".whorl-chart")) seen.observe(place);
})();
