/** Markup that is safe to send: only `html` makes it, so text cannot become markup by being forgotten. */
export class Markup {
  readonly text: string

  private constructor(text: string) {
    this.text = text
  }

  /** The strings of a template are markup; every value in it is text, markup made before, or a list of these. */
  static of(strings: TemplateStringsArray, values: readonly HtmlValue[]): Markup {
    return new Markup(strings.reduce((text, string, index) => text + render(values[index - 1]) + string))
  }
}

export type HtmlValue = Markup | string | number | undefined | readonly HtmlValue[]

/** A template of HTML that escapes what is put into it, between tags and inside quoted attributes alike. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Markup {
  return Markup.of(strings, values)
}

function render(value: HtmlValue): string {
  if (value === undefined) return ''
  if (value instanceof Markup) return value.text
  if (typeof value === 'object') return value.map(render).join('')
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
