import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { Plugin } from "vite";

// Each folder imports of the folders before it only, and no file comes back to itself, not even by a type or a worker.
const FOLDERS = ["data", "decode", "sources", "parts", "views"];
const IMPORT = /\bfrom "(\.[^"?]+)/g;

function importsOf(root: string): Map<string, string[]> {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"));
  return new Map(files.map((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return [file, Array.from(text.matchAll(IMPORT), ([, path]) => `${normalize(join(dirname(file), path))}.ts`)];
  }));
}

function upward(from: string, to: string): boolean {
  const [lower, higher] = [from, to].map((file) => FOLDERS.indexOf(dirname(file)));
  return lower >= 0 && higher > lower;
}

/** The way from a file back to itself; empty: there is none. */
function circle(imports: Map<string, string[]>, way: string[], done: Set<string>): string[] {
  const file = way[way.length - 1];
  if (way.indexOf(file) < way.length - 1) return way.slice(way.indexOf(file));
  if (done.has(file)) return [];
  for (const next of imports.get(file) ?? []) {
    const found = circle(imports, [...way, next], done);
    if (found.length > 0) return found;
  }
  done.add(file);
  return [];
}

/** Ends the build where an import goes the wrong way. */
export function layers(root: string): Plugin {
  return {
    name: "layers",
    buildStart() {
      const imports = importsOf(root);
      for (const [from, all] of imports) {
        for (const to of all) if (upward(from, to)) this.error(`${from} imports ${to}, which is above it`);
      }
      const done = new Set<string>();
      for (const file of imports.keys()) {
        const found = circle(imports, [file], done);
        if (found.length > 0) this.error(`imports in a circle: ${found.join(" > ")}`);
      }
    },
  };
}
