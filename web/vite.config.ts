import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The built page ships inside the Python package, so that an installation needs no node.
export default defineConfig({
  plugins: [react()],
  build: { outDir: "../src/jangar/server/web", emptyOutDir: true, assetsInlineLimit: 0, sourcemap: false },
  server: { proxy: { "/v1": "http://127.0.0.1:7480" } },
});
