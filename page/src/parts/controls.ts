import { labelKeys, NONE } from "../data/filter";
import { GROUPINGS, type Grouping } from "../data/grouping";
import { allValues } from "../data/tags";
import { pair, pattern, tagText, type Model } from "../model";
import { checkbox, h, menu, replaceContent, select } from "./dom";
import type { State, Store } from "./state";
import { rangeChoices } from "./steps";

const MOST_BOXES = 300; // of a label

const WIDE = "(min-width: 701px)"; // on a phone filters would leave no room for the graph

type Text = "search" | "focus" | "ignore" | "tagfocus";
const TEXTS: [Text, string][] = [
  ["search", "Marks frames with this name (a regex). Key: /"],
  ["focus", "Only stacks with such a frame: a regex on name and file"],
  ["ignore", "No stacks with such a frame: a regex on name and file"],
  ["tagfocus", "Only samples with such a label value: a regex"],
];

/** What narrows and shapes the profile that all views show. Made anew when the profile is; else brought up to date. */
export class Controls {
  readonly element: HTMLElement;
  private readonly inputs = new Map<Text, HTMLInputElement>();
  private readonly rest = h("span", { class: "rest" });
  private readonly summary = h("summary", {});

  constructor(private readonly model: Model, private readonly store: Store) {
    const [search, ...fields] = TEXTS.map(([name, title]) => this.text(name, title));
    const filters = h("details", { class: "filters", open: matchMedia(WIDE).matches }, this.summary, h("div", { class: "within" }, fields, this.menus(), this.rest));
    this.element = h("div", { class: "controls", role: "search", "aria-label": "Filters" }, search, filters);
    this.update();
  }

  /** @param again with more of the same: a list that has the focus may be open, and stays as it is */
  update(again = false): void {
    const { state } = this.store;
    for (const [name, input] of this.inputs) {
      if (document.activeElement !== input) input.value = state[name];
      input.setAttribute("aria-invalid", String(input.value !== "" && pattern(input.value) === null));
    }
    const used = this.used({ ...state, search: "", zoom: [], span: "" }); // those are seen without opening it
    this.summary.textContent = used > 0 ? `Filters (${used})` : "Filters";
    if (!again || !this.rest.contains(document.activeElement)) replaceContent(this.rest, this.choices(state));
  }

  searchFor(): void {
    this.inputs.get("search")!.select();
  }

  private text(name: Text, title: string): HTMLElement {
    const apply = () => {
      const typing = name === "search" && this.store.state.search !== ""; // one step, not one for each letter
      this.store.set({ [name]: input.value } as Partial<State>, !typing);
      this.update();
    };
    const input = h("input", { type: "search", id: name, placeholder: name, title, "aria-label": name, spellcheck: "false", onchange: apply,
      onkeydown: (event: KeyboardEvent) => event.key === "Enter" && apply() });
    if (name === "search") input.addEventListener("input", apply);
    this.inputs.set(name, input);
    return input;
  }

  private menus(): HTMLElement[] {
    const { profile } = this.model;
    if (labelKeys(profile).length === 0) return [];
    const keys = () => labelKeys(profile); // of a profile that grows there may be more when the menu is opened
    const toggle = (list: "tagroot" | "tagleaf" | "tagignore", one: string) => (checked: boolean) => {
      const others = this.store.state[list].filter((other) => other !== one);
      this.store.set({ [list]: checked ? [...others, one] : others, zoom: [] } as Partial<State>);
    };
    const ofKeys = (list: "tagroot" | "tagleaf") => menu(list, () => keys().map((key) => checkbox(key, this.store.state[list].includes(key), toggle(list, key))));
    const ignored = menu("tagignore", () => keys().map((key) => h("fieldset", {}, h("legend", {}, key),
      ...ignorable(allValues(profile, key), (value) => {
        const one = tagText(key, value);
        return checkbox(value ?? NONE, this.store.state.tagignore.includes(one), toggle("tagignore", one));
      }))));
    return [ignored, ofKeys("tagroot"), ofKeys("tagleaf")];
  }

  private choices(state: State): Node[] {
    const { store, model } = this;
    const values = model.valueNames();
    return [
      select("Value", values.map((name) => [name, name]), values[model.typeIndex(state)] ?? "", (value) => store.set({ value })),
      select("By", GROUPINGS.map((one) => [one, one]), state.group, (group) => store.set({ group: group as Grouping, zoom: [] })),
      ...state.only.map((one) => h("button", { class: "only", title: "Not only this any more",
        onclick: () => store.set({ only: state.only.filter((other) => other !== one) }, true) }, `only ${(pair(one) ?? [one]).join(" ")} ✕`)),
      checkbox("application only", state.application, (application) => store.set({ application, zoom: [] })),
      ...this.comparison(state),
      this.used(state) > 0 && h("button", { name: "clear", onclick: () => store.set(CLEARED, true) }, "Clear filters"),
    ].filter((one): one is HTMLElement => one instanceof Node);
  }

  private used(state: State): number {
    return Object.entries(CLEARED).filter(([name, value]) => String(state[name as keyof State]) !== String(value)).length;
  }

  private comparison(state: State): HTMLElement[] {
    const { store, model } = this;
    const { profile, timeline } = model;
    const sides = profile.windows.some(({ side }) => side !== "");
    const keys = labelKeys(profile);
    const kinds: [string, string][] = [["", "no"]];
    if (sides) kinds.push(["side", "base and target"]);
    if (timeline.titles.length > 1) kinds.push(["range", "files or times"]);
    if (keys.length > 0) kinds.push(["label", "label values"]);
    if (kinds.length === 1) return [];

    const parts = [select("Compare", kinds, state.compare, (compare) => store.set({ compare: compare as State["compare"], ...this.start(compare) }, true))];
    if (state.compare === "label") parts.push(select("of", keys.map((key) => [key, key]), state.key, (key) => store.set({ key, ...this.values(key) })));
    if (state.compare === "label" || (state.compare === "range" && !timeline.snapshots)) {
      const options = state.compare === "label"
        ? allValues(profile, state.key).filter((value) => value !== null).map((value): [string, string] => [value, value])
        : rangeChoices(model, state.base, state.target, state.range);
      parts.push(select("base", options, state.base, (base) => store.set({ base })), select("target", options, state.target, (target) => store.set({ target })));
    }
    if (state.compare !== "") parts.push(checkbox("relative", state.relative, (relative) => store.set({ relative })));
    return parts;
  }

  private start(compare: string): Partial<State> {
    if (compare === "label") {
      const key = labelKeys(this.model.profile).find((one) => allValues(this.model.profile, one).length > 1) ?? labelKeys(this.model.profile)[0];
      return { key, ...this.values(key) };
    }
    const last = this.model.timeline.titles.length - 1;
    const middle = Math.floor(last / 2);
    if (compare !== "range") return { base: "", target: "" };
    return this.model.timeline.snapshots ? { base: "0-0", target: `${last}-${last}` } : { base: `0-${middle}`, target: `${middle + 1}-${last}` };
  }

  private values(key: string): Partial<State> {
    const [base, target] = allValues(this.model.profile, key).filter((value) => value !== null);
    return { base: base ?? "", target: target ?? "" };
  }
}

function ignorable(values: (string | null)[], box: (value: string | null) => HTMLElement): (HTMLElement | string | false)[] {
  return [...values.slice(0, MOST_BOXES).map(box), values.length > MOST_BOXES && `and ${values.length - MOST_BOXES} more`];
}

/** The state without filters. */
export const CLEARED: Partial<State> = {
  search: "", focus: "", ignore: "", tagfocus: "", tagignore: [], only: [], tagroot: [], tagleaf: [], range: "", zoom: [], span: "", application: false,
};
