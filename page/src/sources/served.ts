import type { Manifest } from "./source";

/** From whoever serves the page, whose own address may lack the last slash. */
function ask(path: string): Promise<Response> {
  return fetch((document.body.dataset.root ?? "") + path);
}

/** Has the application keep what it has sampled. @returns why it did not; null: it did */
export async function takeSnapshot(): Promise<string | null> {
  const answer = await fetch(`${document.body.dataset.root ?? ""}snapshot`, { method: "POST", headers: { "x-rperf-push": "snapshot" } });
  return answer.ok ? null : `No snapshot was taken: ${(await answer.text()).trim() || answer.status}`;
}

/** The page goes away. */
export function leave(): void {
  void fetch(`${document.body.dataset.root ?? ""}gone`, { keepalive: true }).catch(() => {});
}

export async function get(path: string, name: string): Promise<Response> {
  const answer = await ask(path);
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
  return answer;
}

/** The lines of a source file; null where it is not at hand. */
export async function servedLines(manifest: Manifest, path: string): Promise<string[] | null> {
  if (!manifest.source) return null;
  const answer = await ask(`source?path=${encodeURIComponent(path)}`);
  return answer.ok ? (await answer.text()).replace(/\n$/, "").split("\n") : null;
}
