// The page with the published client, as one script.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export async function bundle() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("./page.jsx", import.meta.url))],
    bundle: true,
    write: false,
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"', "process.env": "{}" },
    logLevel: "error",
  });
  return outputFiles[0].text;
}
