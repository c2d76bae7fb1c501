/** Apart, since this package is slower to load than all the rest together and is needed once in the life of a node. */
export { generate } from 'selfsigned'
