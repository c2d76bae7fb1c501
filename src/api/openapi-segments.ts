import type { Schema } from './fields.js'

/** What a segment of a path may hold where it names no folder or file, by its name in the route. */
export const SEGMENTS: Readonly<
  Record<string, { readonly description: string; readonly schema: Schema; readonly example: string }>
> = {
  email: {
    description: 'E-mail address of a person; me is the caller.',
    schema: { type: 'string' },
    example: 'me',
  },
  device: {
    description: 'Identifier of a device.',
    schema: { type: 'string', pattern: '^[0-9a-f]{32}$' },
    example: '4f1bce7790a24c58b3d10e6f92a8c7d5',
  },
  share: {
    description: 'Identifier of a shared folder.',
    schema: { type: 'string', pattern: '^[0-9a-f]{32}$' },
    example: '3f2a9c1e77b00a4d8e11223344556677',
  },
  group: {
    description: 'Identifier of a group.',
    schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
    example: '2875640021',
  },
}
