/** The stylesheet of the pages: one column on a phone, contents at the side on a wide screen, light and dark. */
export const STYLE = `
:root {
  --page: #ffffff; --text: #1c2330; --soft: #5b6577; --line: #dfe3ea; --raised: #f5f7fa;
  --link: #0b5cad; --good: #1a7040; --bad: #a1341f; --only: #6b4a00; --only-back: #fff2d0;
  --get: #0b5cad; --post: #1a7040; --put: #8a5a00; --delete: #a1341f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161d; --text: #e4e8ef; --soft: #9aa5b6; --line: #2b3340; --raised: #1a202a;
    --link: #7db8f5; --good: #6fce97; --bad: #f09480; --only: #f2cf82; --only-back: #3a2f14;
    --get: #7db8f5; --post: #6fce97; --put: #e8bd62; --delete: #f09480;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0 auto; max-width: 76rem; padding: 0 1rem 4rem; background: var(--page); color: var(--text);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere;
}
a { color: var(--link); text-decoration: none; }
a:hover, a:focus { text-decoration: underline; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 1.5rem 0 0.25rem; }
h2 { font-size: 1.375rem; margin: 2.5rem 0 0.5rem; }
h3 { font-size: 1.0625rem; line-height: 1.5; margin: 0; }
h4 {
  font-size: 0.8125rem; margin: 1.25rem 0 0.375rem; color: var(--soft); text-transform: uppercase;
  letter-spacing: 0.05em;
}
p { margin: 0.5rem 0; }
code { font: 0.9em/1.5 ui-monospace, monospace; }
small { color: var(--soft); font-size: 0.8125rem; }
pre {
  margin: 0.375rem 0 0; padding: 0.75rem; background: var(--raised); border: 1px solid var(--line);
  border-radius: 6px; white-space: pre-wrap; font-size: 0.875rem;
}
.facts, .headers { color: var(--soft); font-size: 0.9375rem; }
article { padding: 1.25rem 0; border-top: 1px solid var(--line); }
article:target h3 { background: var(--raised); }
.method {
  display: inline-block; padding: 0 0.375rem; border: 1px solid currentColor; border-radius: 4px;
  font: 600 0.75rem/1.5 ui-monospace, monospace;
}
.get { color: var(--get); }
.post { color: var(--post); }
.put, .patch { color: var(--put); }
.delete { color: var(--delete); }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.only {
  padding: 0 0.375rem; border-radius: 4px; color: var(--only); background: var(--only-back); white-space: nowrap;
}
dl { margin: 0; }
dd { margin: 0; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.125rem 0.75rem; }
header .facts { display: block; }
.facts dd { color: var(--text); }
.rows dt { margin-top: 0.625rem; }
figure { margin: 0.5rem 0 0; }
figcaption { font-size: 0.9375rem; }
summary { cursor: pointer; color: var(--link); font-size: 0.9375rem; padding: 0.25rem 0; }
nav { border: 1px solid var(--line); border-radius: 6px; padding: 0.25rem 0.75rem; margin-top: 1rem; }
nav ul { list-style: none; margin: 0.25rem 0 0.75rem; padding: 0; }
nav li a { display: block; padding: 0.25rem 0; }
nav h3 { font-size: 0.875rem; color: var(--soft); margin-top: 0.75rem; }
nav .wide { display: none; }
@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 19rem minmax(0, 1fr); column-gap: 2.5rem; }
  header { grid-column: 1 / -1; }
  nav {
    position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; border: 0; padding: 1rem 0;
    font-size: 0.875rem;
  }
  nav details { display: none; }
  nav .wide { display: block; }
  main section:first-child h2 { margin-top: 1rem; }
  .rows { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 0.5rem 1rem; }
  .rows.answers { grid-template-columns: 4rem minmax(0, 1fr); }
  .rows dt { margin: 0; }
}
@media print {
  nav { display: none; }
}
`.trimStart()
