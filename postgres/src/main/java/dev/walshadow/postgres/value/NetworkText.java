package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;

/**
 * inet and cidr.
 *
 * <pre>
 * 0 u8 family: 2 = IPv4, 3 = IPv6
 * 1 u8 prefix length in bits
 * 2 u8[4 or 16] address, network byte order
 * </pre>
 *
 * Source: {@code inet_struct} in {@code src/include/utils/inet.h}; {@code inet_net_ntop}.
 */
final class NetworkText {
    private static final int FAMILY_IPV4 = 2;
    private static final int FAMILY_IPV6 = 3;
    private static final int ADDRESS = 2;
    private static final int IPV6_WORDS = 8;

    private NetworkText() {}

    /** The prefix length is printed only if it is not the whole address. */
    static void inet(byte[] bytes, int offset, int length, ByteBuilder out) {
        append(bytes, offset, length, false, out);
    }

    /** The prefix length is always printed. */
    static void cidr(byte[] bytes, int offset, int length, ByteBuilder out) {
        append(bytes, offset, length, true, out);
    }

    private static void append(
            byte[] bytes, int offset, int length, boolean prefixAlways, ByteBuilder out) {
        Malformed.requireInside("inet", bytes, offset, length);
        int family = length < ADDRESS ? 0 : bytes[offset] & 0xFF;
        int size = family == FAMILY_IPV4 ? 4 : family == FAMILY_IPV6 ? 16 : -1;
        int prefix = length < ADDRESS ? -1 : bytes[offset + 1] & 0xFF;
        if (size < 0 || length - ADDRESS < size || prefix > 8 * size) {
            throw Malformed.value(
                    "inet",
                    "an IPv4 or IPv6 address with its prefix length",
                    "family " + family + ", prefix " + prefix + ", " + length + " bytes",
                    offset);
        }
        if (size == 4) {
            appendIpv4(bytes, offset + ADDRESS, out);
        } else {
            appendIpv6(bytes, offset + ADDRESS, out);
        }
        if (prefixAlways || prefix != 8 * size) {
            out.putByte('/');
            IntegerText.append(prefix, out);
        }
    }

    private static void appendIpv4(byte[] bytes, int at, ByteBuilder out) {
        for (int i = 0; i < 4; i++) {
            if (i > 0) {
                out.putByte('.');
            }
            IntegerText.append(bytes[at + i] & 0xFF, out);
        }
    }

    private static int word(byte[] bytes, int at, int index) {
        return (bytes[at + 2 * index] & 0xFF) << 8 | (bytes[at + 2 * index + 1] & 0xFF);
    }

    /** The first longest run of at least two zero words is printed as {@code ::}. */
    private static void appendIpv6(byte[] bytes, int at, ByteBuilder out) {
        int bestStart = -1;
        int bestLength = 1;
        for (int i = 0; i < IPV6_WORDS; i++) {
            int end = i;
            while (end < IPV6_WORDS && word(bytes, at, end) == 0) {
                end++;
            }
            if (end - i > bestLength) {
                bestStart = i;
                bestLength = end - i;
            }
            i = Math.max(i, end - 1);
        }
        for (int i = 0; i < IPV6_WORDS; i++) {
            if (bestStart >= 0 && i >= bestStart && i < bestStart + bestLength) {
                if (i == bestStart) {
                    out.putByte(':');
                }
                continue;
            }
            if (i > 0) {
                out.putByte(':');
            }
            if (i == 6 && bestStart == 0 && embedsIpv4(bytes, at, bestLength)) {
                appendIpv4(bytes, at + 12, out);
                return;
            }
            appendHexWord(word(bytes, at, i), out);
        }
        if (bestStart >= 0 && bestStart + bestLength == IPV6_WORDS) {
            out.putByte(':');
        }
    }

    /** IPv4-compatible ({@code ::a.b.c.d}) and IPv4-mapped ({@code ::ffff:a.b.c.d}) addresses. */
    private static boolean embedsIpv4(byte[] bytes, int at, int zeros) {
        return zeros == 6
                || (zeros == 7 && word(bytes, at, 7) != 1)
                || (zeros == 5 && word(bytes, at, 5) == 0xFFFF);
    }

    private static void appendHexWord(int word, ByteBuilder out) {
        int shift = word > 0xFFF ? 12 : word > 0xFF ? 8 : word > 0xF ? 4 : 0;
        for (int at = shift; at >= 0; at -= 4) {
            int nibble = word >>> at & 15;
            out.putByte(nibble < 10 ? '0' + nibble : 'a' + nibble - 10);
        }
    }
}
