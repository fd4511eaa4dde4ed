import { onlyColumn, parseRange } from "../data/sides";
import type { Model } from "../model";
import { h, replaceContent, select } from "./dom";
import type { State, Store } from "./state";

/** Snapshots in their order: which one is shown, and against which. */
export class Steps {
  readonly element = h("div", { class: "steps", role: "group", "aria-label": "Snapshots" });

  constructor(private readonly model: Model, private readonly store: Store) {
    this.update();
  }

  /** Whether there is more than one snapshot, and no other comparison. */
  static wanted({ timeline }: Model, { compare }: State): boolean {
    return timeline.snapshots && timeline.titles.length > 1 && (compare === "" || compare === "range");
  }

  update(): void {
    const { model, store } = this;
    const { state } = store;
    this.element.hidden = !Steps.wanted(model, state);
    if (this.element.hidden) return;

    const shown = state.compare === "range" ? state.target : state.range;
    const against = select("against", [["", "nothing"], ...rangeChoices(model, state.base).filter(([range]) => range !== shown)], state.base, (base) => this.compare(base));
    against.querySelector("select")!.disabled = shown === "";
    const at = onlyColumn(shown);
    const turn = (by: number, id: string, text: string, title: string) =>
      h("button", { id, name: id, title, "aria-label": title, disabled: at >= 0 && !this.column(at + by), onclick: () => this.move(by) }, text);
    replaceContent(this.element, [
      turn(-1, "step-back", "◀", "The snapshot before (,)"),
      select("Snapshot", [["", `all ${model.timeline.titles.length} together`], ...rangeChoices(model, shown)], shown, (range) => this.show(range)),
      turn(1, "step-on", "▶", "The next snapshot (.)"), against]);
  }

  /** To a neighbour; what it is compared with goes along where that is the one before it. */
  move(by: number): void {
    const { state } = this.store;
    if (!Steps.wanted(this.model, state)) return;
    const at = onlyColumn(state.compare === "range" ? state.target : state.range);
    const last = this.model.timeline.titles.length - 1;
    const next = at < 0 ? (by > 0 ? 0 : last) : at + by;
    if (!this.column(next)) return;
    const before = state.compare === "range" && onlyColumn(state.base) === at - 1 && next > 0;
    if (before) this.store.set({ base: `${next - 1}-${next - 1}`, target: `${next}-${next}` });
    else this.show(`${next}-${next}`);
  }

  private show(range: string): void {
    const compared = this.store.state.compare === "range" && range !== "" && range !== this.store.state.base;
    this.store.set(compared ? { target: range } : { range, ...NOT_COMPARED }, true);
  }

  private compare(base: string): void {
    const { state } = this.store;
    const target = state.compare === "range" ? state.target : state.range;
    this.store.set(base === "" ? { range: target, ...NOT_COMPARED } : { compare: "range", base, target, range: "" }, true);
  }

  private column(index: number): boolean {
    return index >= 0 && index < this.model.timeline.titles.length;
  }
}

const NOT_COMPARED: Partial<State> = { compare: "", base: "", target: "" };

/** Columns of the timeline, and ranges of several that were chosen there. */
export function rangeChoices({ timeline }: Model, ...chosen: string[]): [string, string][] {
  const columns = timeline.titles.map((title, column): [string, string] => [`${column}-${column}`, title]);
  const others = new Set(chosen.filter((range) => range !== "" && !columns.some(([value]) => value === range)));
  const named = (range: string) => parseRange(range).map((column) => timeline.titles[column] ?? "?").join(" … ");
  return [...others].map((range): [string, string] => [range, named(range)]).concat(columns);
}
