import type { Frame, Labels } from "./profile";

/** Where a frame's code is from. */
export type Origin = "application" | "gem" | "ruby" | "c" | "label";

/** What each is called, in the order in which they are shown. */
export const ORIGINS: Record<Origin, string> = { application: "application", gem: "gem", ruby: "Ruby's library", c: "C", label: "label" };

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

/** What a thread does: it runs, its GC does, it waits for the GVL, or it is off the GVL. */
export type VmState = "running" | "gc" | "gvl" | "blocked";

/** A state of the VM is a label: under our names and under those it is sent by. */
export function vmState(labels: Labels): VmState {
  if (labels.get("%GC") ?? labels.get("gc_phase")) return "gc";
  const gvl = labels.get("%GVL") ?? labels.get("gvl_state");
  return gvl ? (gvl === "wait" ? "gvl" : "blocked") : "running";
}

// States as frames, in profiles without labels.
export function stateFrame(name: string): "" | "gc" | "gvl" | "off" {
  if (/^\[(?:GC|gc)/.test(name)) return "gc";
  if (/^\[GVL wait/.test(name)) return "gvl";
  return /^\[GVL/.test(name) ? "off" : "";
}
