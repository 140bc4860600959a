import Foundation
import FoundationXML

/// Reads tracks from XML, GPX or TCX by its root element.
///
/// A document type is rejected: neither format has one, and its entities could expand without limit.
struct XMLRecording {
    enum Problem: Error, Equatable {
        /// There is a document type, or the text is not in UTF-8.
        case unacceptable
        case malformed(line: Int)
        /// The root element is neither GPX's nor TCX's.
        case foreign(root: String)
    }

    let tracks: [RecordedTrack]
    /// The line in which the text is cut off; `nil` for a whole one.
    let cut: Int?

    init(_ whole: Data) throws(Problem) {
        // Strava's TCX files begin with blanks, which the parser accepts before no declaration.
        let blanks = Set(" \t\r\n".utf8)
        let data = whole.withoutBrokenEnd.drop { blanks.contains($0) }
        // Foundation's parser traps on names that are not in UTF-8.
        guard data.range(of: Data("<!DOCTYPE".utf8)) == nil, !data.contains(0),
            String(validating: data, as: UTF8.self) != nil
        else { throw .unacceptable }
        let reader = ElementReader()
        // Without a stream, Foundation's parser rejects more than 10 MB.
        let parser = XMLParser(stream: InputStream(data: data))
        parser.delegate = reader
        // For a truncated text `parse()` succeeds and sets an error.
        let isWhole = parser.parse() && parser.parserError == nil
        if let root = reader.foreignRoot { throw .foreign(root: root) }
        let line = max(1, parser.lineNumber)
        cut = isWhole ? nil : line
        if !isWhole {
            guard !reader.isComplete, !data.ends(withElement: reader.root) else { throw .malformed(line: line) }
            reader.gpx?.cut()
            reader.tcx?.cut()
        }
        guard let tracks = reader.gpx?.tracks ?? reader.tcx?.tracks else { throw .malformed(line: line) }
        self.tracks = tracks
    }
}

extension Data {
    /// Without the beginning of a tag or character whose rest is cut off. A parser would read `<trk` of `<trkpt`.
    fileprivate var withoutBrokenEnd: Data {
        if let tag = lastIndex(of: UInt8(ascii: "<")), !self[tag...].contains(UInt8(ascii: ">")) {
            return prefix(upTo: tag)
        }
        guard let lead = indices.suffix(3).last(where: { self[$0] >= 0xC0 }) else { return self }
        let length = self[lead] >= 0xF0 ? 4 : self[lead] >= 0xE0 ? 3 : 2
        return endIndex - lead < length ? prefix(upTo: lead) : self
    }

    /// Whether the last tag closes an element of this local name.
    fileprivate func ends(withElement name: String?) -> Bool {
        let blanks = " \t\r\n"
        let text = String(decoding: suffix(1_000), as: UTF8.self)
        guard let name, let tag = text.range(of: "</", options: .backwards) else { return false }
        let rest = text[tag.upperBound...].filter { !blanks.contains($0) }
        return rest == "\(name)>" || rest.hasSuffix(":\(name)>")
    }
}

extension XMLRecording.Problem: CustomStringConvertible {
    var description: String {
        switch self {
        case .unacceptable: "XML with a document type, or not in UTF-8"
        case .malformed(let line): "the XML cannot be read beyond line \(line)"
        case .foreign(let root): "XML with <\(root)>, which is neither GPX nor TCX"
        }
    }
}

/// Translates the parser's callbacks: the root's reader receives names without prefix, and the text of each element
/// without children.
private final class ElementReader: NSObject, XMLParserDelegate {
    var gpx: GPXReader?
    var tcx: TCXReader?
    var foreignRoot: String?
    /// The local name of the root.
    private(set) var root: String?
    private var path: [String] = []
    /// Whether the root has ended.
    var isComplete: Bool { root != nil && path.isEmpty }
    private var text = ""

    func parser(
        _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
        qualifiedName qName: String?, attributes attributeDict: [String: String]
    ) {
        let name = Self.localName(elementName)
        if path.isEmpty {
            root = name
            switch name {
            case "gpx": gpx = GPXReader()
            case "TrainingCenterDatabase": tcx = TCXReader()
            default:
                foreignRoot = name
                parser.abortParsing()
            }
        }
        path.append(name)
        text = ""
        gpx?.open(name, attributeDict)
        tcx?.open(name, attributeDict)
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        text += string
    }

    func parser(
        _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName qName: String?
    ) {
        guard let name = path.popLast() else { return }
        let value = text.trimmingCharacters(in: .whitespacesAndNewlines)
        text = ""
        gpx?.close(name, in: path.last, value)
        tcx?.close(name, in: path.last, value)
    }

    private static func localName(_ name: String) -> String {
        String(name[(name.lastIndex(of: ":").map(name.index(after:)) ?? name.startIndex)...])
    }
}
