import Foundation

/// The body of a form, `multipart/form-data` of RFC 7578. The same parts give the same bytes.
struct MultipartForm {
    struct Part {
        let name: String
        var file: String?
        let mediaType: String
        let body: [UInt8]

        /// A text field.
        init(_ name: String, _ text: String) {
            self.name = name
            mediaType = "text/plain; charset=utf-8"
            body = Array(text.utf8)
        }

        /// - Parameters:
        ///   - name: the field. Neither it nor the file's name contains quotes or line ends.
        init(_ name: String, file: String, mediaType: String, _ body: [UInt8]) {
            self.name = name
            self.file = file
            self.mediaType = mediaType
            self.body = body
        }
    }

    private let parts: [Part]
    private let boundary: String

    /// - Parameter word: the begin of the boundary: at most 60 letters, digits and dashes.
    init(_ parts: [Part], boundary word: String) {
        self.parts = parts
        var number = 0
        while parts.contains(where: { Data($0.body).range(of: Data("\(word)-\(number)".utf8)) != nil }) { number += 1 }
        boundary = "\(word)-\(number)"
    }

    var mediaType: String { "multipart/form-data; boundary=\(boundary)" }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(0) { $0 + $1.body.count + 256 })
        for part in parts {
            let file = part.file.map { "; filename=\"\($0)\"" } ?? ""
            bytes += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(part.name)\"\(file)\r\n".utf8
            bytes += "Content-Type: \(part.mediaType)\r\n\r\n".utf8
            bytes += part.body
            bytes += "\r\n".utf8
        }
        bytes += "--\(boundary)--\r\n".utf8
        return bytes
    }
}
