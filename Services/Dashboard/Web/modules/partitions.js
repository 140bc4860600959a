// Which of several brokers has an account's topics. Pages load it only if there are several.

/**
 * The broker's number, from 0: the CRC-32 of its name modulo their number.
 *
 * @param {string} account @param {number} count
 */
export function partitionOf(account, count) {
  let checksum = ~0;
  for (const byte of new TextEncoder().encode(account)) {
    checksum ^= byte;
    for (let bit = 0; bit < 8; bit++) checksum = checksum & 1 ? (checksum >>> 1) ^ 0xedb88320 : checksum >>> 1;
  }
  return (~checksum >>> 0) % count;
}
