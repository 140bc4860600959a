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

    init(_ data: Data) throws(Problem) {
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
        guard isWhole, let tracks = reader.gpx?.tracks ?? reader.tcx?.tracks else {
            throw .malformed(line: max(1, parser.lineNumber))
        }
        self.tracks = tracks
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
    private var path: [String] = []
    private var text = ""

    func parser(
        _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
        qualifiedName qName: String?, attributes attributeDict: [String: String]
    ) {
        let name = Self.localName(elementName)
        if path.isEmpty {
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
