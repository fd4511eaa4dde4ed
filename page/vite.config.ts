import { defineConfig } from "vite";
import { layers } from "./layers";

// Three files with names of their own: the server knows them, and `report --html` puts them into one.
export default defineConfig({
  base: "./",
  plugins: [layers("src")],
  build: {
    target: "es2022",
    outDir: "../page",
    emptyOutDir: true,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: {
      output: { entryFileNames: "page.js", assetFileNames: "page.[ext]" },
    },
  },
});
