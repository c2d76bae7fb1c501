/** The stylesheet of the pages: one column, wide enough to read; a card for sign-in; light and dark. */
export const STYLE = `
:root {
  --page: #f3f4f8; --card: #ffffff; --text: #1a2130; --soft: #566074; --line: #d5dae4; --edge: #79849a;
  --accent: #3b3a9e; --accent-text: #ffffff; --accent-soft: #ecebfb;
  --bad: #a0261b; --bad-back: #fdeceb; --good: #14683a; --good-back: #e6f5ec;
  --space: 1rem; --round: 10px;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #10131a; --card: #191e28; --text: #e7eaf1; --soft: #a3adbf; --line: #313948; --edge: #7f8aa0;
    --accent: #b3b1ff; --accent-text: #14143a; --accent-soft: #26264a;
    --bad: #ffa59b; --bad-back: #3a1b19; --good: #86dba8; --good-back: #15301f;
  }
}
* { box-sizing: border-box; }
html { font-size: 106.25%; }
body {
  margin: 0; min-height: 100vh; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif; overflow-wrap: anywhere;
}
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 var(--space); }
h2 { font-size: 1.125rem; line-height: 1.35; margin: calc(2 * var(--space)) 0 calc(var(--space) / 2); }
p { margin: 0 0 var(--space); }
a { color: var(--accent); }
bdi { unicode-bidi: isolate; }
code { font: 0.95em/1.5 ui-monospace, Menlo, monospace; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -100vw; padding: 0.5rem 1rem; background: var(--card); }
.skip:focus { left: 0; top: 0; z-index: 1; }
header {
  display: flex; flex-wrap: wrap; gap: 0.5rem var(--space); align-items: center; justify-content: space-between;
  max-width: 52rem; margin: 0 auto; padding: var(--space);
}
.brand { font-weight: 700; letter-spacing: 0.02em; color: var(--text); text-decoration: none; }
.brand::before {
  content: ''; display: inline-block; width: 0.75em; height: 0.75em; margin-right: 0.45em;
  border-radius: 0 60% 0 60%; background: linear-gradient(135deg, #2f8f86, #5a3fb0);
}
.who { display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; align-items: center; color: var(--soft); font-size: 0.875rem; }
nav { max-width: 52rem; margin: 0 auto; padding: 0 var(--space) 0.5rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem; list-style: none; margin: 0 -0.75rem; padding: 0 0.5rem; }
nav a { display: block; padding: 0.5rem 0.75rem; border-radius: var(--round); text-decoration: none; }
nav a:hover { background: var(--accent-soft); }
nav a[aria-current] { background: var(--accent-soft); font-weight: 600; }
main {
  max-width: 52rem; margin: var(--space) auto 3rem; padding: calc(1.5 * var(--space));
  background: var(--card); border: 1px solid var(--line); border-radius: var(--round);
}
.narrow header, .narrow main { max-width: 27rem; }
form { margin: 0; }
form.inline { display: inline; }
.field { margin: 0 0 var(--space); }
.field label, legend { display: block; font-weight: 600; margin: 0 0 0.25rem; padding: 0; }
.hint { color: var(--soft); font-size: 0.875rem; margin: 0.25rem 0 0; }
input[type='text'], input[type='email'], input[type='password'], input[type='number'], textarea {
  width: 100%; min-height: 2.75rem; padding: 0.5rem 0.75rem; font: inherit; color: inherit;
  background: var(--card); border: 1px solid var(--edge); border-radius: 8px;
}
textarea { min-height: 6rem; }
fieldset { border: 0; margin: 0 0 var(--space); padding: 0; min-width: 0; }
.choice { display: flex; gap: 0.75rem; align-items: flex-start; padding: 0.5rem 0; }
.choice input { flex: none; width: 1.25rem; height: 1.25rem; margin: 0.125rem 0 0; accent-color: var(--accent); }
.choice label { flex: 1; font-weight: 400; margin: 0; }
.strong { color: var(--bad); font-weight: 700; }
.actions { display: flex; flex-wrap: wrap; gap: 0.75rem; margin-top: var(--space); }
button, .button {
  min-height: 2.75rem; padding: 0.5rem 1.25rem; font: inherit; font-weight: 600; cursor: pointer;
  color: var(--accent-text); background: var(--accent); border: 1px solid var(--accent); border-radius: 8px;
  text-decoration: none; display: inline-block;
}
button.second { color: var(--accent); background: transparent; }
button.danger { color: var(--bad); background: transparent; border-color: var(--bad); }
.who button { min-height: 2.25rem; padding: 0.25rem 0.75rem; font-size: 0.875rem; }
.notice { padding: 0.75rem var(--space); border-radius: 8px; background: var(--good-back); color: var(--good); }
.problem { padding: 0.75rem var(--space); border-radius: 8px; background: var(--bad-back); color: var(--bad); }
.items { list-style: none; margin: 0; padding: 0; }
.items > li { padding: var(--space) 0; border-top: 1px solid var(--line); }
.items h2 { margin-top: 0; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: 0.125rem var(--space); margin: 0 0 0.75rem; }
dt { color: var(--soft); }
dd { margin: 0; }
.secret { padding: 0.75rem var(--space); background: var(--accent-soft); border-radius: 8px; user-select: all; }
.codes li { white-space: nowrap; }
.codes { columns: 13rem 2; list-style: none; margin: 0 0 var(--space); padding: var(--space); background: var(--accent-soft); border-radius: 8px; }
.picture { display: block; width: 13rem; max-width: 100%; height: auto; margin: 0 0 var(--space); background: #ffffff; border-radius: 8px; }
.links { margin-top: calc(1.5 * var(--space)); font-size: 0.9375rem; }
.links a { margin-right: var(--space); }
@media (max-width: 30rem) {
  main { margin: 0 0 2rem; border-width: 1px 0; border-radius: 0; padding: var(--space); }
  dl { grid-template-columns: 1fr; }
  dd { margin-bottom: 0.375rem; }
  .actions button { flex: 1; }
}
@media (prefers-contrast: more) { :root { --line: var(--edge); } }
`.trimStart()
