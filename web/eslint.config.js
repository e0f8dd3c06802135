import eslint from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules", "src/api_schema.ts", "eslint.config.js"] },
  eslint.configs.recommended,
  tseslint.configs.recommendedTypeChecked,
  hooks.configs.flat.recommended,
  {
    languageOptions: { parserOptions: { projectService: true } },
    // These two prepare code for the React Compiler, which this page does not use.
    rules: { "react-hooks/refs": "off", "react-hooks/set-state-in-effect": "off" },
  },
);
