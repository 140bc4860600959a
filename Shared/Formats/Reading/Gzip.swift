import CZlib
package import Foundation

/// Unpacks files that are compressed with gzip.
package enum Gzip {
    package struct Unpacked: Sendable {
        package var content = Data()
        /// Whether the file is cut off or damaged at its end: the content before that is there.
        package var isCut = false
    }

    private static let chunk = 256 << 10

    package static func isCompressed(_ content: Data) -> Bool { content.starts(with: [0x1F, 0x8B]) }

    /// - Parameter limit: the bytes that the content may have.
    /// - Returns: `nil` if it has more.
    package static func unpack(_ packed: Data, limit: Int) -> Unpacked? {
        var stream = z_stream()
        // 16 more than the largest window: gzip's header and no other.
        guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return Unpacked(isCut: true)
        }
        defer { inflateEnd(&stream) }
        var unpacked = Unpacked()
        var buffer = [UInt8](repeating: 0, count: chunk)
        var input = [UInt8](packed)
        return input.withUnsafeMutableBufferPointer { bytes in
            stream.next_in = bytes.baseAddress
            stream.avail_in = UInt32(bytes.count)
            while true {
                let (result, count) = buffer.withUnsafeMutableBufferPointer { output in
                    stream.next_out = output.baseAddress
                    stream.avail_out = UInt32(output.count)
                    let result = inflate(&stream, Z_NO_FLUSH)
                    return (result, output.count - Int(stream.avail_out))
                }
                unpacked.content.append(contentsOf: buffer[..<count])
                guard unpacked.content.count <= limit else { return nil }
                switch result {
                case Z_OK where stream.avail_in > 0 || count > 0: continue
                // A file may have several members.
                case Z_STREAM_END where stream.avail_in > 0 && inflateReset(&stream) == Z_OK: continue
                case Z_STREAM_END: return unpacked
                default:
                    unpacked.isCut = true
                    return unpacked
                }
            }
        }
    }
}
