import Foundation
import NIOCore
import ServiceKit

/// The body of a form, `multipart/form-data` of RFC 7578, with one file. The same parts give the same bytes.
///
/// It is read in pieces, so that memory does not grow with the file.
struct MultipartForm {
    struct File {
        /// Without quotes and line ends, as its media type.
        let name: String
        let mediaType: String
        let content: OpenFile
    }

    let mediaType: String
    private let file: OpenFile
    private let beforeFile: [UInt8]
    private let afterFile: [UInt8]

    /// - Parameters:
    ///   - file: the field `file`.
    ///   - texts: further fields; names have no quotes and no line ends.
    ///   - word: the begin of the boundary: at most 60 letters, digits and dashes.
    init(_ file: File, _ texts: [(name: String, value: String)], boundary word: String) throws {
        var number = 0
        func isUsed(_ boundary: [UInt8]) throws -> Bool {
            if texts.contains(where: { Data($0.value.utf8).range(of: Data(boundary)) != nil }) { return true }
            return try file.content.contains(boundary)
        }
        while try isUsed(Array("\(word)-\(number)".utf8)) { number += 1 }
        let boundary = "\(word)-\(number)"
        mediaType = "multipart/form-data; boundary=\(boundary)"
        self.file = file.content
        func head(_ name: String, _ mediaType: String) -> String {
            "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"\r\nContent-Type: \(mediaType)\r\n\r\n"
        }
        beforeFile = Array(head("file\"; filename=\"\(file.name)", file.mediaType).utf8)
        let fields = texts.map { head($0.name, "text/plain; charset=utf-8") + $0.value }
        afterFile = Array(("\r\n" + (fields + ["--\(boundary)--\r\n"]).joined(separator: "\r\n")).utf8)
    }

    /// The bytes of the body.
    var count: Int { beforeFile.count + file.count + afterFile.count }
}

extension MultipartForm: AsyncSequence {
    typealias Element = ByteBuffer

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let form: MultipartForm
        fileprivate let size: Int
        /// The place of the next piece: before the file, in it or at its end; `nil` after it.
        fileprivate var place: Int? = -1

        mutating func next() async throws -> ByteBuffer? {
            guard let start = place else { return nil }
            if start < 0 {
                place = 0
                return ByteBuffer(bytes: form.beforeFile)
            }
            if start >= size {
                place = nil
                return ByteBuffer(bytes: form.afterFile)
            }
            place = start + OpenFile.pieceSize
            let file = form.file
            let piece = try await onFileThread { try file.read(start..<start + OpenFile.pieceSize) }
            return ByteBuffer(bytes: piece)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(form: self, size: file.count) }
}

extension OpenFile {
    /// Whether the bytes occur in the file.
    fileprivate func contains(_ bytes: [UInt8]) throws -> Bool {
        // The end of a piece, in which the bytes may begin.
        var end: [UInt8] = []
        var isFound = false
        try forEachPiece { piece in
            let text = Data(end + piece)
            isFound = isFound || text.range(of: Data(bytes)) != nil
            end = text.suffix(bytes.count - 1)
        }
        return isFound
    }
}
