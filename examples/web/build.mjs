// Bundles the page into dist/: one script, one style sheet, one document, and nothing from elsewhere.
import { build } from "esbuild";
import { cp, mkdir, rm } from "node:fs/promises";

await rm("dist", { recursive: true, force: true });
await mkdir("dist");
await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  outfile: "dist/app.js",
  legalComments: "none",
});
for (const file of ["index.html", "style.css", "icon.svg"]) {
  await cp(file, `dist/${file}`);
}
