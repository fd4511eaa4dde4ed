import type { SampleTree } from "../data/sample_tree";
import { pattern } from "../model";
import { h, isShortcut } from "../parts/dom";
import { change, percent, quantity } from "../parts/numbers";
import { order } from "../parts/table";
import type { Place, Shown } from "./shown";

const MOST_CHILDREN = 100; // shown at once
const OPEN_SHARE = 0.5; // of the parent: the way down that is opened by itself

/** The call tree as rows that open. */
export function treeView({ model, state, store, source, place, say }: Shown): HTMLElement {
  const tree = model.sampleTree(state);
  if (place.tree !== tree && !source.live) place.opened.clear();
  place.tree = tree;
  const body = h("tbody", {});
  const sorting = new Sorting(tree, state.sort);
  const rows = new Rows(tree, model.type(state).unit, body, pattern(state.search, "i"), sorting, place);
  rows.begin();
  say(`${quantity(tree.total[0], model.type(state).unit)} in all. Arrow keys: up and down move, right opens, left closes.`);
  return h("div", { class: "table-holder" }, h("table", { role: "treegrid", class: "calls" }, h("caption", {}, "Calls: self and total amounts"),
    h("thead", {}, h("tr", {}, sorting.heads((sort) => store.set({ sort }, false)))), body));
}

/** How the calls below one call are sorted. */
class Sorting {
  private readonly columns: { key: string; title: string; value(node: number): number | string }[];
  private readonly by: (typeof this.columns)[number];
  private readonly reversed: boolean;

  constructor(tree: SampleTree, sort: string) {
    const total = (node: number) => tree.total[node];
    this.columns = [
      { key: "self", title: "Self", value: (node) => tree.self[node] },
      { key: "total", title: "Total", value: tree.baseTotal ? (node) => tree.weight(node) : total },
      ...(tree.baseTotal ? [{ key: "change", title: "Change of total", value: (node: number) => tree.total[node] - tree.baseTotal![node] }] : []),
      { key: "share", title: "Of all", value: total },
      { key: "parent_share", title: "Of parent", value: total },
      { key: "name", title: "Name", value: (node) => tree.name(node) },
    ];
    const key = sort.replace(/^-/, "");
    this.by = this.columns.find((column) => column.key === key) ?? this.columns[1];
    this.reversed = sort.startsWith("-");
  }

  sort(nodes: number[]): number[] {
    const { value } = this.by;
    return nodes.sort((a, b) => (this.reversed ? -1 : 1) * order(value(a), value(b)));
  }

  heads(sortBy: (sort: string) => void): HTMLElement[] {
    return this.columns.map((column) => {
      const chosen = column === this.by;
      const falling = (column.key !== "name") !== this.reversed;
      return h("th", { scope: "col", "aria-sort": chosen ? (falling ? "descending" : "ascending") : null },
        h("button", { "data-sort": column.key, onclick: () => sortBy(chosen && !this.reversed ? `-${column.key}` : column.key) }, column.title));
    });
  }
}

class Rows {
  private readonly rows = new Map<number, HTMLElement>(); // those that are shown
  private readonly way: Set<number>; // to where threads are now: shown also where it has nothing

  constructor(
    private readonly tree: SampleTree,
    private readonly unit: string,
    private readonly body: HTMLElement,
    private readonly search: RegExp | null,
    private readonly sorting: Sorting,
    private readonly place: Place,
  ) {
    this.way = tree.way();
    body.addEventListener("keydown", (event) => this.key(event));
  }

  begin(): void {
    const first = this.row(0, 1);
    this.body.append(first);
    if (this.place.opened.size > 0) this.openAgain(0);
    else this.openLargest();
    const here = [...this.rows].find(([node]) => this.pathOf(node) === this.place.here)?.[1] ?? first;
    here.tabIndex = 0;
    this.light();
  }

  private openLargest(): void {
    const { tree } = this;
    for (let node = 0, largest = 0; largest >= 0 && tree.weight(largest) >= tree.weight(node) * OPEN_SHARE; largest = this.largestBelow(node)) {
      node = largest;
      this.open(this.rows.get(node)!);
      if (!this.rows.has(this.largestBelow(node))) break; // it is among those that are not shown yet
    }
  }

  /** -1: there is none. */
  private largestBelow(node: number): number {
    return this.below(node).reduce((largest, child) => (largest < 0 || this.tree.weight(child) > this.tree.weight(largest) ? child : largest), -1);
  }

  private openAgain(node: number): void {
    const row = this.rows.get(node);
    if (!row || !this.place.opened.has(this.pathOf(node))) return;
    this.open(row);
    for (const child of this.below(node)) this.openAgain(child);
  }

  private pathOf(node: number): string {
    return JSON.stringify(this.tree.path(node));
  }

  /** Rows at which a thread is now, or below which, where they are closed. */
  private light(): void {
    for (const row of this.body.querySelectorAll(".lit")) row.classList.remove("lit");
    for (const node of this.tree.lit) {
      let at = node;
      while (at > 0 && !this.rows.has(at)) at = this.tree.parent[at];
      if (at > 0) this.rows.get(at)!.classList.add("lit");
    }
  }

  private below(node: number): number[] {
    const { tree } = this;
    return this.sorting.sort(tree.children(node).filter((child) => tree.weight(child) !== 0 || this.way.has(child)));
  }

  private row(node: number, level: number): HTMLElement {
    const { tree } = this;
    const leaf = this.below(node).length === 0;
    const found = this.search?.test(tree.name(node));
    const toggle = h("button", { class: "toggle", tabindex: -1, "aria-hidden": "true" }, leaf ? "·" : "▸");
    const name = indented(level, toggle, h("span", { class: `swatch ${tree.colour(node)}` }), h("span", { class: found ? "found" : null }, tree.name(node)));
    const row = h("tr", { role: "row", "aria-level": level, "aria-expanded": leaf ? null : "false", "data-node": node, tabindex: -1 },
      this.numbers([node]), name);
    toggle.addEventListener("click", () => this.turn(row));
    this.rows.set(node, row);
    return row;
  }

  private turn(row: HTMLElement): void {
    if (row.ariaExpanded === "true") this.close(row);
    else this.open(row);
    this.light();
  }

  private open(row: HTMLElement): void {
    if (row.ariaExpanded !== "false") return;
    const node = Number(row.dataset.node);
    row.ariaExpanded = "true";
    row.querySelector(".toggle")!.textContent = "▾";
    row.after(...this.rowsOf(this.below(node), Number(row.ariaLevel) + 1));
    this.place.opened.add(this.pathOf(node));
  }

  /** The largest, and a row that brings the next ones. */
  private rowsOf(nodes: number[], level: number): HTMLElement[] {
    const rows = nodes.slice(0, MOST_CHILDREN).map((child) => this.row(child, level));
    const others = nodes.slice(MOST_CHILDREN);
    return others.length === 0 ? rows : [...rows, this.othersRow(others, level)];
  }

  private othersRow(nodes: number[], level: number): HTMLElement {
    const more = h("button", { class: "name", tabindex: -1 }, `${nodes.length} others: show more`);
    const row = h("tr", { role: "row", "aria-level": level, tabindex: -1, class: "others" },
      this.numbers(nodes), indented(level, more));
    const show = () => {
      const rows = this.rowsOf(nodes, level);
      row.replaceWith(...rows);
      this.go(rows[0]);
      this.light();
    };
    more.addEventListener("click", show);
    row.addEventListener("keydown", (event) => {
      if (isShortcut(event) || (event.key !== "Enter" && event.key !== "ArrowRight")) return;
      event.stopPropagation();
      event.preventDefault();
      show();
    });
    return row;
  }

  private close(row: HTMLElement): void {
    if (row.ariaExpanded !== "true") return;
    row.ariaExpanded = "false";
    row.querySelector(".toggle")!.textContent = "▸";
    const level = Number(row.ariaLevel);
    for (let next = row.nextElementSibling as HTMLElement | null; next && Number(next.ariaLevel) > level; next = row.nextElementSibling as HTMLElement | null) {
      if (next.dataset.node) this.forget(Number(next.dataset.node));
      next.remove();
    }
    this.place.opened.delete(this.pathOf(Number(row.dataset.node)));
  }

  private forget(node: number): void {
    this.rows.delete(node);
    this.place.opened.delete(this.pathOf(node));
  }

  private key(event: KeyboardEvent): void {
    if (isShortcut(event)) return;
    const row = (event.target as HTMLElement).closest("tr")!;
    if (event.key === "ArrowDown") this.go(row.nextElementSibling);
    else if (event.key === "ArrowUp") this.go(row.previousElementSibling);
    else if (event.key === "ArrowRight") row.ariaExpanded === "false" ? this.turn(row) : this.go(row.nextElementSibling);
    else if (event.key === "ArrowLeft") row.ariaExpanded === "true" ? this.turn(row) : this.go(this.parentOf(row));
    else return;
    event.preventDefault();
  }

  private parentOf(row: HTMLElement): Element | null {
    let at = row.previousElementSibling;
    while (at && Number(at.ariaLevel) >= Number(row.ariaLevel)) at = at.previousElementSibling;
    return at;
  }

  private go(row: Element | null): void {
    if (!(row instanceof HTMLElement)) return;
    this.body.querySelectorAll<HTMLElement>("tr[tabindex='0']").forEach((other) => (other.tabIndex = -1));
    row.tabIndex = 0;
    row.focus();
    if (row.dataset.node) this.place.here = this.pathOf(Number(row.dataset.node));
  }

  /** What rows, which have one parent, come to. */
  private numbers(nodes: number[]): HTMLElement[] {
    const { tree, unit } = this;
    const sum = (column: Float64Array) => nodes.reduce((before, node) => before + column[node], 0);
    const total = sum(tree.total);
    const grown = tree.baseTotal ? [change(total - sum(tree.baseTotal), unit)] : [];
    return [quantity(sum(tree.self), unit), quantity(total, unit), ...grown, percent(total, tree.total[0]), percent(total, tree.total[Math.max(tree.parent[nodes[0]], 0)])]
      .map((text) => h("td", { class: "number" }, text));
  }
}

function indented(level: number, ...parts: Node[]): HTMLElement {
  const cell = h("td", { class: "indented" }, parts);
  cell.style.paddingInlineStart = `${Math.min(level, 40) * 12}px`;
  return cell;
}
