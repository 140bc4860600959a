import Bus
import Foundation
import TestSupport
import Testing
import Workouts

struct ImportPayloadTests {
    @Test func `parts, statuses and requests are read as they are written`() throws {
        var random = SeededRandom()
        for status in random.importStatuses() {
            #expect(try JSONCoding.decode(ImportStatus.self, from: JSONCoding.encode(status)) == status)
        }
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let workout = ImportPart.Workout(name: "Lauf", activity: .running)
        let parts = ImportPart.all(of: content, name: "a", workout: workout)
        #expect(parts.count == 3)
        let read = try parts.map { try JSONCoding.decode(ImportPart.self, from: JSONCoding.encode($0)) }
        #expect(read.map(\.workout) == [workout, nil, nil])
        #expect(read.map(\.content).reduce(Data(), +) == content)
        #expect(parts.allSatisfy { JSONCoding.encode($0).count < 200_000 })
        let id: ImportID = random.identifier()
        let actions: [ImportRequest.Action] = [.log(id), .skip(id), .retry(id), .cancel(id), .list(before: nil)]
        for action in actions {
            let request = ImportRequest(id: random.identifier(), client: random.name(), action: action)
            #expect(try JSONCoding.decode(ImportRequest.self, from: JSONCoding.encode(request)) == request)
        }
    }

    @Test(arguments: [
        (#""n":1,"of":1,"name":"a","bytes":1,"x":"YQ==""#, "n: "),
        (#""n":0,"of":0,"name":"a","bytes":1,"x":"YQ==""#, "of: "),
        (#""n":0,"of":1,"name":"","bytes":1,"x":"YQ==""#, "name: "),
        (#""n":0,"of":1,"name":"a","bytes":0,"x":"YQ==""#, "bytes: "),
        (#""n":0,"of":1,"name":"a","bytes":1,"x":"?""#, "x: "), (#""n":0,"of":1,"name":"a","bytes":1"#, "x: missing"),
        (#""n":0,"of":1,"name":"a","bytes":1,"workout":{"name":""},"x":"YQ==""#, "workout.name: "),
        (#""n":0,"of":1,"name":"a","bytes":1,"workout":{"activity":"sleep"},"x":"YQ==""#, "workout.activity: "),
        (#""n":0,"of":1,"name":"a\u0007","bytes":1,"x":"YQ==""#, "name: "),
    ])
    func `an invalid part names its field`(fields: String, blames: String) {
        let error = #expect(throws: PayloadError.self) {
            try JSONCoding.decode(ImportPart.self, from: "{\(fields)}".utf8)
        }
        #expect(error?.text.hasPrefix(blames) == true, "\(String(describing: error))")
    }
}
