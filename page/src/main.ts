import { App } from "./app";
import { openSource } from "./sources/open";
import { h } from "./parts/dom";
import "./style.css";

try {
  await new App(await openSource()).start();
} catch (error) {
  document.body.append(h("p", { role: "alert", class: "problems" }, error instanceof Error ? error.message : String(error)));
}
