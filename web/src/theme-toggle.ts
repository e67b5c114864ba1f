// The button that changes between light and dark colours.

import { el } from "./dom";
import { chooseTheme, currentTheme } from "./theme";

export function themeToggle(redraw: () => void): HTMLElement {
  const button = el("button", { type: "button", class: "theme" });
  const label = () => {
    const other = currentTheme() === "dark" ? "light" : "dark";
    button.textContent = other;
    button.setAttribute("aria-label", `Show in ${other} colours`);
  };
  button.addEventListener("click", () => {
    chooseTheme(currentTheme() === "dark" ? "light" : "dark");
    label();
    redraw();
  });
  label();
  return button;
}
