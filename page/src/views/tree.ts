import type { CallTree } from "../data/call_tree";
import { pattern } from "../model";
import { h } from "../parts/dom";
import { percent, quantity } from "../parts/numbers";
import type { Shown } from "./view";

const MOST_CHILDREN = 100; // shown at once
const OPEN_SHARE = 0.5; // of the parent: the way down that is opened by itself

/** Which rows are open, and which one the keys are at: by their names from the root on, as a tree that grows is drawn again and again. */
export interface Place {
  opened: Set<string>;
  here: string;
}

/** The call tree as rows that open. */
export function treeView({ model, state, place, say }: Shown): HTMLElement {
  const tree = model.callTree(state);
  const body = h("tbody", {});
  const rows = new Rows(tree, model.type(state).unit, body, pattern(state.search, "i"), place);
  rows.begin();
  say(`${quantity(tree.total[0], model.type(state).unit)} in all. Arrow keys: up and down move, right opens, left closes.`);
  return h("div", { class: "table-holder" }, h("table", { role: "treegrid", class: "calls" }, h("caption", {}, "Calls: own and total amounts"),
    h("thead", {}, h("tr", {}, ["Self", "Total", "Of all", "Of parent", "Name"].map((text) => h("th", { scope: "col" }, text)))), body));
}

class Rows {
  private readonly rows = new Map<number, HTMLElement>(); // those that are shown

  constructor(
    private readonly tree: CallTree,
    private readonly unit: string,
    private readonly body: HTMLElement,
    private readonly search: RegExp | null,
    private readonly place: Place,
  ) {
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
    const { total } = this.tree;
    for (let node = 0, largest: number | undefined = 0; largest !== undefined && total[largest] >= total[node] * OPEN_SHARE; [largest] = this.below(node)) {
      node = largest;
      this.open(this.rows.get(node)!);
    }
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
    const { total } = this.tree;
    return this.tree.children(node).filter((child) => total[child] !== 0).sort((a, b) => total[b] - total[a]);
  }

  private row(node: number, level: number): HTMLElement {
    const { tree, unit } = this;
    const leaf = this.below(node).length === 0;
    const parent = node === 0 ? 0 : tree.parent[node];
    const found = this.search?.test(tree.name(node));
    const toggle = h("button", { class: "toggle", tabindex: -1, "aria-hidden": "true" }, leaf ? "·" : "▸");
    const name = h("td", { class: "indented" }, toggle, h("span", { class: `swatch ${tree.colour(node)}` }), h("span", { class: found ? "found" : null }, tree.name(node)));
    name.style.paddingInlineStart = `${Math.min(level, 40) * 12}px`;
    const row = h("tr", { role: "row", "aria-level": level, "aria-expanded": leaf ? null : "false", "data-node": node, tabindex: -1 },
      [quantity(tree.self[node], unit), quantity(tree.total[node], unit), percent(tree.total[node], tree.total[0]), percent(tree.total[node], tree.total[parent])]
        .map((text) => h("td", { class: "number" }, text)), name);
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
    row.after(...this.below(node).slice(0, MOST_CHILDREN).map((child) => this.row(child, Number(row.ariaLevel) + 1)));
    this.place.opened.add(this.pathOf(node));
  }

  private close(row: HTMLElement): void {
    if (row.ariaExpanded !== "true") return;
    row.ariaExpanded = "false";
    row.querySelector(".toggle")!.textContent = "▸";
    const level = Number(row.ariaLevel);
    for (let next = row.nextElementSibling as HTMLElement | null; next && Number(next.ariaLevel) > level; next = row.nextElementSibling as HTMLElement | null) {
      this.rows.delete(Number(next.dataset.node));
      next.remove();
    }
    this.place.opened.delete(this.pathOf(Number(row.dataset.node)));
  }

  private key(event: KeyboardEvent): void {
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
    this.place.here = this.pathOf(Number(row.dataset.node));
  }
}
