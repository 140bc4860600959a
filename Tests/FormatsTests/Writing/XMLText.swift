import Foundation
import FoundationXML
import TestSupport

@testable import Formats

/// An export as XML, checked by independent programs.
struct XMLText {
    let document: XMLDocument

    init(_ bytes: [UInt8]) throws {
        document = try XMLDocument(data: Data(bytes))
    }

    /// The elements at a path of local names, such as `Lap/Track`, below any element.
    func elements(_ path: String) throws -> [XMLElement] {
        let steps = path.split(separator: "/").map { "*[local-name()='\($0)']" }
        return try document.nodes(forXPath: "//" + steps.joined(separator: "/")).compactMap {
            $0 as? XMLElement
        }
    }

    func texts(_ path: String) throws -> [String] {
        try elements(path).map { $0.stringValue ?? "" }
    }

    func attributes(_ name: String, of path: String) throws -> [String?] {
        try elements(path).map { element in
            element.attributes?.first { $0.name == name }?.stringValue
        }
    }

    /// The number of children of each element.
    func counts(_ path: String) throws -> [Int] {
        try elements(path).map { ($0.children ?? []).count { $0 is XMLElement } }
    }

    /// The texts of the elements with this name below each element at the path.
    func texts(_ name: String, inEach path: String) throws -> [[String]] {
        try elements(path).map { element in
            try element.nodes(forXPath: ".//*[local-name()='\(name)']").map { $0.stringValue ?? "" }
        }
    }

    func numbers(_ path: String) throws -> [Double] {
        try texts(path).compactMap(Double.init)
    }

    /// Whether the children of each of these elements are in the namespace and have these names in this order.
    func hasOrder(_ names: [String], in path: String, namespace: String) throws -> Bool {
        try elements(path).allSatisfy { element in
            let children = (element.children ?? []).compactMap { $0 as? XMLElement }
            let places = children.map { names.firstIndex(of: $0.localName ?? "") ?? -1 }
            return !places.contains(-1) && zip(places, places.dropFirst()).allSatisfy(<)
                && children.allSatisfy { $0.resolvedNamespace == namespace }
        }
    }
}

extension XMLElement {
    fileprivate var resolvedNamespace: String? {
        name.flatMap { resolveNamespace(forName: $0)?.stringValue }
    }
}

/// The schemas of Debian's pytrainer, and the programs that read the formats.
enum XMLSchema: String {
    case tcx = "GarminTrainingCenterDatabase_v2.xsd"
    case gpx = "Topografix_gpx11.xsd"

    private var path: String { "/usr/share/pytrainer/schemas/\(rawValue)" }

    /// The errors of xmllint; empty if the file is valid. Prints a note and returns an empty text without xmllint or
    /// the schema.
    func validate(_ bytes: [UInt8]) async throws -> String {
        let manager = FileManager.default
        guard manager.fileExists(atPath: "/usr/bin/xmllint"), manager.fileExists(atPath: path) else {
            print("skipped: no xmllint or no \(path)")
            return ""
        }
        let folder = try TemporaryFolder()
        let file = folder.file("workout.xml")
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        do {
            try await ChildProcess.run(
                ["xmllint", "--noout", "--nonet", "--huge", "--schema", path, file], log: folder.file("log")
            )
            return ""
        } catch let failure as ChildProcess.Failure {
            return String(failure.text.prefix(1_000))
        }
    }
}
