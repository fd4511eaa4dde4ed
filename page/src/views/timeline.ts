import { labelKeys, NONE } from "../data/filter";
import { isLevel } from "../data/profile";
import { parseRange } from "../data/sides";
import { heat, type HeatRow, type Mark } from "../data/timeline";
import { h, isShortcut, select } from "../parts/dom";
import { quantity } from "../parts/numbers";
import { sortedTable } from "../parts/table";
import type { Shown } from "./shown";

const SECOND = 1e9; // ns
const LABEL_WIDTH = 110; // pixels, with what is left of the heat map

/** Windows as a heat map. A range of its columns becomes the profile that all views show. */
export function timelineView(shown: Shown): HTMLElement {
  const { model, state, store, say } = shown;
  const { profile, timeline } = model;
  const { unit } = model.type(state);
  const keys = labelKeys(profile);
  const key = keys.includes(state.rows) ? state.rows : state.rows === "-" ? "" : (["endpoint", "job", "%GVL", "gvl_state"].find((one) => keys.includes(one)) ?? "");
  const rows = heat(profile, timeline, model.typeIndex(state), model.filter(state), key).sort((a, b) => Number(a.name === NONE) - Number(b.name === NONE));
  const { covered, rateOf, text } = rates(shown);
  const scaleOf = scales(rows, rateOf);
  const chosen = state.compare === "range" ? state.target : state.range;
  const range = chosen === "" ? null : parseRange(chosen);
  const { titles } = timeline;
  const long = (columns: [number, number]) => (timeline.length(columns) > 0 ? ` (${quantity(timeline.length(columns), "nanoseconds")})` : "");
  const resting = range ? `From ${titles[range[0]] ?? "?"} to ${titles[range[1]] ?? "?"}${long(range)}` : `${titles.length} windows${long([0, titles.length - 1])}`;
  say(resting);

  const cells = (row: HeatRow) => Array.from(row.cells, (amount, column) => {
    const rate = rateOf(amount, column);
    const long = covered ? ` (${quantity(amount, unit)} in ${quantity(covered[column], "nanoseconds")})` : "";
    const cell = h("td", { class: row.name === NONE && rows.length > 1 ? "heat none" : "heat", "data-column": column, title: `${row.name}, ${titles[column]}: ${text(rate)}${long}` },
      h("span", { class: "unseen" }, text(rate)));
    cell.style.setProperty("--heat", `${Math.round((rate / scaleOf(row)) * 100)}%`);
    return cell;
  });
  const marks = timeline.marks(Math.max(Math.floor(shown.width / LABEL_WIDTH), 1));
  const labelled = Math.max(Math.ceil((titles.length * LABEL_WIDTH) / shown.width), 1);
  const heads = titles.map((title, column) => h("th", { scope: "col", class: "tick", "data-column": column, "aria-selected": String(inside(column, range)) },
    h("button", { tabindex: column === (range?.[0] ?? 0) ? 0 : -1, title, "aria-label": title }, timeline.snapshots && column % labelled === 0 && String(column + 1))));
  const table = h("table", { class: "timeline" }, h("caption", {}, `${titles[0] ?? ""} – ${titles[titles.length - 1] ?? ""}. Drag over columns, or use the arrow keys with Shift, to choose a range.`),
    h("colgroup", {}, h("col", { class: "names" }), h("col", { span: titles.length })),
    h("thead", {}, marks.length > 0 && axis(marks, titles.length), h("tr", {}, h("th", { scope: "col" }, key || "all"), heads)),
    h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row", title: row.name }, row.name), cells(row)))));
  chooseRange(table, titles.length, range, (from, to, cell) => {
    store.set({ [state.compare === "range" ? "target" : "range"]: `${from}-${to}`, zoom: [] }, true);
    if (cell) say(cell); // a tap shows no title
  });
  table.addEventListener("pointerover", (event) => say((event.target as HTMLElement).closest<HTMLElement>("td.heat")?.title ?? resting));
  return h("div", {}, h("div", { class: "above" },
    select("Rows", [["-", "all"], ...keys.map((one): [string, string] => [one, one])], key || "-", (value) => store.set({ rows: value })),
    scaleLegend(rows, scaleOf, text),
    range && h("button", { onclick: () => store.set({ range: "", ...(state.compare === "range" && { compare: "", base: "", target: "" }) }, true) }, "All windows"),
    range && h("button", { onclick: () => store.set({ view: "flame" }, true) }, "Show as flame graph")), h("div", { class: "table-holder" }, table),
    timeline.snapshots && titles.length > 1 && snapshots(shown));
}

/** Amounts in a second, because columns are not equally long; a level as it is, and amounts of files that do not say how long they are. */
function rates({ model, state }: Shown) {
  const { unit } = model.type(state);
  const covered = isLevel(model.type(state)) ? null : model.timeline.covered(model.profile.windows);
  return {
    covered,
    rateOf: (amount: number, column: number) => (covered ? (amount * SECOND) / (covered[column] || SECOND) : amount),
    text: (amount: number) => quantity(amount, unit) + (covered ? "/s" : ""),
  };
}

/** The rate that has the full colour. Samples without the label have a scale of their own: most of them are threads that sleep. */
function scales(rows: HeatRow[], rateOf: (amount: number, column: number) => number): (row: HeatRow) => number {
  const most = (some: HeatRow[]) => Math.max(...some.flatMap(({ cells }) => Array.from(cells, rateOf)), 0) || 1;
  const [named, none] = [rows.filter(({ name }) => name !== NONE), rows.filter(({ name }) => name === NONE)];
  if (named.length === 0) return () => most(none);
  const [ofNamed, ofNone] = [most(named), most(none)];
  return ({ name }) => (name === NONE ? ofNone : ofNamed);
}

function scaleLegend(rows: HeatRow[], scaleOf: (row: HeatRow) => number, text: (amount: number) => string): HTMLElement {
  const scale = (title: string, row: HeatRow | undefined, none: string) => row && h("li", {}, title, "0 ", h("span", { class: `scale ${none}` }), ` ${text(scaleOf(row))}`);
  const named = rows.find(({ name }) => name !== NONE);
  const none = rows.find(({ name }) => name === NONE);
  return h("ul", { class: "legend", id: "heat" }, scale("", named ?? none, ""), named && scale(`${NONE}: `, none, "none"));
}

interface Snapshot {
  title: string;
  column: number;
}

/** What each snapshot comes to, and how that differs from the one before. */
function snapshots(shown: Shown): HTMLElement {
  const { model, state, store, place } = shown;
  const { profile, timeline } = model;
  const { covered, rateOf, text } = rates(shown);
  const { unit } = model.type(state);
  const [all] = heat(profile, timeline, model.typeIndex(state), model.filter(state), "");
  const amount = (column: number) => all?.cells[column] ?? 0;
  const rate = (column: number) => rateOf(amount(column), column);
  const grown = (column: number) => (column === 0 ? 0 : rate(column) - rate(column - 1));
  const show = (column: number) => store.set({ view: "flame", range: `${column}-${column}`, compare: "", base: "", target: "" }, true);
  const compare = (column: number) =>
    store.set({ view: "flame", compare: "range", base: `${column - 1}-${column - 1}`, target: `${column}-${column}`, range: "" }, true);
  const inASecond = { key: "rate", title: "In a second", value: ({ column }: Snapshot) => rate(column), text: ({ column }: Snapshot) => text(rate(column)) };
  return h("div", { id: "snapshots" }, sortedTable<Snapshot>({
    caption: "Snapshots", whole: place.whole, rows: timeline.titles.map((title, column) => ({ title, column })), sort: state.sort, first: "order", sortBy: (sort) => store.set({ sort }, false),
    columns: [
      { key: "order", title: "Nr.", value: ({ column }) => String(column + 1).padStart(6, "0"), text: ({ column }) => String(column + 1) },
      { key: "total", title: "Total", value: ({ column }) => amount(column), text: ({ column }) => quantity(amount(column), unit) },
      ...(covered ? [inASecond] : []),
      { key: "change", title: "Change", value: ({ column }) => grown(column), text: ({ column }) => (column === 0 ? "" : `${grown(column) > 0 ? "+" : ""}${text(grown(column))}`) },
      { key: "name", title: "Snapshot", value: ({ title }) => title,
        cell: ({ title, column }) => h("button", { class: "name", title: "Show this one", onclick: () => show(column) }, title) },
      { key: "compare", title: "", value: ({ column }) => String(column).padStart(6, "0"), cell: ({ title, column }) => h("span", {}, column > 0 &&
        h("button", { "aria-label": `Compare ${title} with the one before`, onclick: () => compare(column) }, "Compare with the one before")) },
    ],
  }));
}

/** Round times where they are: columns begin when they begin. Each column says its time to those who do not see. */
function axis(marks: Mark[], columns: number): HTMLElement {
  return h("tr", { class: "axis", "aria-hidden": "true" }, h("td", {}), h("td", { colspan: columns }, h("div", {}, marks.map(({ at, text }) => {
    const mark = h("span", {}, text);
    mark.style.left = `${at * 100}%`;
    return mark;
  }))));
}

function inside(column: number, range: [number, number] | null): boolean {
  return range !== null && column >= range[0] && column <= range[1];
}

const ENDS = ["pointerup", "pointercancel"] as const; // the browser cancels what becomes a scroll
const NOTHING: [number, number] = [-1, -1];

/** @param before what is chosen already */
function chooseRange(table: HTMLElement, columns: number, before: [number, number] | null, chosen: (from: number, to: number, cell?: string) => void): void {
  let anchor = -1;
  let end = -1;
  const columnAt = (event: Event) => Number((event.target as HTMLElement).closest<HTMLElement>("[data-column]")?.dataset.column ?? -1);
  const mark = (from = Math.min(anchor, end), to = Math.max(anchor, end)) => table.querySelectorAll<HTMLElement>("th.tick").forEach((head) => {
    head.setAttribute("aria-selected", String(inside(Number(head.dataset.column), [from, to])));
  });
  const done = (event: PointerEvent) => {
    for (const kind of ENDS) removeEventListener(kind, done);
    const range: [number, number] = [Math.min(anchor, end), Math.max(anchor, end)];
    anchor = -1;
    const cell = range[0] === range[1] ? (event.target as Element).closest?.<HTMLElement>("td.heat") : null;
    if (event.type === "pointerup") chosen(...range, cell?.title);
    else mark(...(before ?? NOTHING));
  };
  table.addEventListener("pointerdown", (event) => {
    const column = columnAt(event);
    if (event.button !== 0 || column < 0) return;
    event.preventDefault();
    anchor = end = column;
    mark();
    for (const kind of ENDS) addEventListener(kind, done);
  });
  table.addEventListener("pointerover", (event) => {
    const column = columnAt(event);
    if (anchor < 0 || column < 0) return;
    end = column;
    mark();
  });
  let first = -1;
  table.addEventListener("keydown", (event) => {
    const at = columnAt(event);
    if (at < 0 || isShortcut(event)) return;
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: columns - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") chosen(...((first < 0 ? [at, at] : [Math.min(first, at), Math.max(first, at)]) as [number, number]));
    else if (next === undefined) return;
    else {
      if (event.shiftKey && first < 0) first = at;
      if (!event.shiftKey) first = -1;
      const column = Math.min(Math.max(next, 0), columns - 1);
      [anchor, end] = [first < 0 ? column : first, column];
      mark();
      anchor = -1;
      table.querySelector<HTMLElement>(`th.tick[data-column="${column}"] button`)!.focus();
    }
    event.preventDefault();
  });
}
