/** Starts the page. */

import { App } from "./app.js";
import { followTheme } from "./theme.js";

const app = new App();
followTheme(() => app.render());
app.start();
