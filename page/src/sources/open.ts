import { FileSource } from "./file_source";
import { LiveSource } from "./live_source";
import { get } from "./served";
import type { FileEntry, Manifest, Source } from "./source";

/** What `report --html` has put into the page, or else what the server that it is from says. */
export async function openSource(): Promise<Source> {
  const embedded = document.getElementById("manifest");
  if (embedded) return new FileSource(JSON.parse(new TextDecoder().decode(bytesIn(embedded))) as Manifest, embeddedFile);
  const manifest = (await (await get("profiles.json", "profiles.json")).json()) as Manifest;
  return manifest.live ? new LiveSource(manifest) : new FileSource(manifest, served);
}

async function served(file: FileEntry): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await (await get(file.url!, file.name)).arrayBuffer());
}

async function embeddedFile(_: FileEntry, index: number): Promise<Uint8Array<ArrayBuffer>> {
  const element = document.getElementById(`file-${index}`)!;
  const bytes = bytesIn(element);
  element.remove();
  return bytes;
}

function bytesIn(element: HTMLElement): Uint8Array<ArrayBuffer> {
  const base64 = element.textContent!.trim();
  const { fromBase64 } = Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }; // of browsers since 2025
  if (fromBase64) return fromBase64.call(Uint8Array, base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}
