import type { Frame, Labels } from "./profile";

/** Where a frame's code is from. */
export type Origin = "application" | "gem" | "ruby" | "c" | "label";
/** What a frame is shown as: its origin, or what its thread did instead of running. */
export type Colour = Origin | "gc" | "waiting";

export const COLOURS: { colour: Colour; name: string }[] = [
  { colour: "application", name: "application" },
  { colour: "gem", name: "gem" },
  { colour: "ruby", name: "Ruby's library" },
  { colour: "c", name: "C" },
  { colour: "gc", name: "GC" },
  { colour: "waiting", name: "waiting" },
  { colour: "label", name: "label" },
];

// A gem's file is gem-name/lib/... in our profiles, and .../gems/gem-name-1.2.3/lib/... in those of others.
const INSTALLED = /(?:^|\/)(?:bundler\/)?gems\/([^/]+?)(?:-\d[^/]*|-[0-9a-f]{12})?\//;
const SHORTENED = /^(?!(?:app|lib|config|db|test|spec|bin|exe|ext|vendor|\.\.?)\/)([\w.-]+)\/(?:lib|app|ext|exe|bin|config)\//;
const LIBRARY = /(?:^|\/)lib\/ruby\/|^<internal:|^ruby\//;

export function gemOf(file: string): string | undefined {
  return INSTALLED.exec(file)?.[1] ?? SHORTENED.exec(file)?.[1];
}

export function originOf({ file }: Frame): Origin {
  if (file === "" || file === "<C method>" || file === "<cfunc>" || file === "(cfunc)") return "c";
  if (gemOf(file) !== undefined) return "gem";
  return LIBRARY.test(file) ? "ruby" : "application";
}

/** A state of the VM, which is a label: under our names and under those it is sent by. */
export function stateOf(labels: Labels): "" | "gc" | "waiting" {
  if (labels.get("%GC") ?? labels.get("gc_phase")) return "gc";
  return labels.get("%GVL") ?? labels.get("gvl_state") ? "waiting" : "";
}

// States as frames, in profiles without labels.
export function stateFrame(name: string): "" | "gc" | "waiting" {
  if (/^\[(?:GC|gc)/.test(name)) return "gc";
  return /^\[GVL/.test(name) ? "waiting" : "";
}
