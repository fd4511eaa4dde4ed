import { gemOf, originOf, type Origin } from "./origin";
import type { Frame, Profile } from "./profile";

export const GROUPINGS = ["function", "class", "file", "gem"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** What one row of a table and one box of a graph stand for: a function, or all of a class, a file or a gem. */
export interface Group {
  name: string;
  file: string;
  origin: Origin;
}

/** Groups by number, and the group of each frame. */
export class Groups {
  readonly list: Group[] = [];
  private readonly ids = new Map<string, number>();

  id(name: string, file: string, origin: Origin): number {
    const key = `${origin === "label" ? "label" : ""}\0${file}\0${name}`;
    let id = this.ids.get(key);
    if (id === undefined) {
      id = this.list.push({ name, file, origin }) - 1;
      this.ids.set(key, id);
    }
    return id;
  }

  /** @param applicationOnly frames of others have -1: their time is their caller's */
  ofFrames(profile: Profile, grouping: Grouping, applicationOnly: boolean): Int32Array {
    const origins = profile.frames.map(originOf);
    // Without a file nobody knows whose it is.
    const known = origins.some((origin) => origin === "application");
    return Int32Array.from(profile.frames, (frame, index) => {
      const origin = origins[index];
      return applicationOnly && known && origin !== "application" ? -1 : this.ofFrame(frame, origin, grouping);
    });
  }

  private ofFrame(frame: Frame, origin: Origin, grouping: Grouping): number {
    switch (grouping) {
      case "function": return this.id(frame.name, frame.file, origin);
      case "class": return this.id(classOf(frame.name), "", origin);
      case "file": return this.id(frame.file || "(no file)", "", origin);
      case "gem": return this.id(gemOf(frame.file) ?? ownerOf(origin), "", origin);
    }
  }
}

/** `Shop::Cart` of `Shop::Cart#total`, `Shop::Cart.find` and `block in Shop::Cart#total`. */
export function classOf(name: string): string {
  const method = name.replace(/^(?:block(?: \(\d+ levels\))?|rescue|ensure) in /, "");
  const found = /^(.+?)(?:#|\.(?=[^.]+$))/.exec(method);
  return found ? found[1] : method;
}

function ownerOf(origin: Origin): string {
  return { application: "(application)", gem: "(gem)", ruby: "(Ruby's library)", c: "(C)", label: "(label)" }[origin];
}
