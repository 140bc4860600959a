import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Pacebus

struct FileUploadTests {
    private let anna = User("anna")!
    private let client = Client("page-1")!
    private let clock = ManualClock()

    private func upload(_ parts: Int, importsDuplicates: Bool = false) -> FileUpload {
        var upload = FileUpload(
            user: anna, name: "run.fit", content: Data(count: parts * ImportPart.size),
            importsDuplicates: importsDuplicates, client: client, now: clock.moment)
        upload.connected(clock.moment)
        return upload
    }

    /// The numbers of the parts sent within some seconds.
    private func send(_ upload: inout FileUpload, _ seconds: Double) throws -> [Int] {
        var numbers: [Int] = []
        for _ in 0..<Int(seconds * 20) {
            numbers += try upload.takeOutgoing(clock.moment).compactMap { message in
                (try? JSONCoding.decode(ImportPart.self, from: message.payload))?.n
            }
            clock.advance(by: .milliseconds(50))
        }
        return numbers
    }

    private func receive(_ upload: inout FileUpload, _ ack: ImportAck) throws {
        let topic = upload.subscriptions[1].filter
        let message = MQTTMessage(topic: topic, payload: JSONCoding.encode(ack)[...], qos: .atMostOnce, retain: false)
        try upload.receive(message, clock.moment)
    }

    private func receive(_ upload: inout FileUpload, _ status: ImportStatus.Status, revision: Int64) throws {
        let topic = upload.subscriptions[0].filter
        let id = try #require(ImportID(String(topic.split(separator: "/")[5])))
        let status = ImportStatus(
            id: id, revision: revision, status: status, name: "run.fit", bytes: 1, at: clock.now)
        let message = MQTTMessage(
            topic: topic, payload: JSONCoding.encode(status)[...], qos: .atLeastOnce, retain: true)
        try upload.receive(message, clock.moment)
    }

    @Test func `parts go out at 0.75 MiB a second, at most 20 beyond the acknowledgement`() throws {
        var upload = upload(40)
        #expect(try send(&upload, 1) == Array(0..<6))
        #expect(try send(&upload, 4) == Array(6..<20))
        try receive(&upload, ImportAck(n: 15))
        #expect(try send(&upload, 5) == Array(20..<35))
    }

    @Test func `a late acknowledgement of the file before counts for that alone`() throws {
        var (former, upload) = (upload(1), upload(1))
        #expect(try send(&upload, 1) == [0])
        let topic = former.subscriptions[1].filter
        try receive(&former, ImportAck(n: 1))
        let late = MQTTMessage(
            topic: topic, payload: JSONCoding.encode(ImportAck(n: 1))[...], qos: .atMostOnce, retain: false)
        try upload.receive(late, clock.moment)
        #expect(try send(&upload, 10) == [0])
    }

    @Test func `parts are sent again after a stall, a reconnect and a loss`() throws {
        var upload = upload(3)
        #expect(try send(&upload, 9) == [0, 1, 2])
        #expect(try send(&upload, 2) == [0, 1, 2])
        try receive(&upload, ImportAck(n: 2))
        upload.disconnected()
        #expect(try send(&upload, 1) == [])
        upload.connected(clock.moment)
        #expect(try send(&upload, 1) == [2])
        try receive(&upload, ImportAck(n: 0))
        #expect(try send(&upload, 1) == [0, 1, 2])
    }

    @Test func `a refusal with a time pauses, and one without ends the upload`() throws {
        var upload = upload(2)
        #expect(try send(&upload, 1) == [0, 1])
        try receive(&upload, ImportAck(n: 0, error: Refusal(code: "too_many_imports", message: "wait", retryAfter: 90)))
        #expect(try send(&upload, 89) == [])
        #expect(try send(&upload, 2) == [0, 1])
        #expect(throws: ImportFailure.self) {
            try receive(&upload, ImportAck(n: 0, error: Refusal(code: "import_reused", message: "another file")))
        }
    }

    @Test(arguments: [false, true]) func `a question is answered as the command says`(importsDuplicates: Bool) throws {
        var upload = upload(1, importsDuplicates: importsDuplicates)
        #expect(try send(&upload, 0.5) == [0])
        try receive(&upload, ImportAck(n: 1))
        try receive(&upload, .asking, revision: 2)
        let message = try #require(try upload.takeOutgoing(clock.moment).first)
        let request = try JSONCoding.decode(ImportRequest.self, from: message.payload)
        let id = try #require(request.action.id)
        #expect(request.action == (importsDuplicates ? .log(id) : .skip(id)))
        try receive(&upload, .receiving, revision: 1)
        #expect(upload.outcome == nil)
        try receive(&upload, .done, revision: 3)
        #expect(upload.outcome?.status == .done)
    }

    @Test func `without any message for a minute the upload fails`() throws {
        var upload = upload(1)
        _ = try send(&upload, 59)
        #expect(throws: ImportFailure.self) { _ = try send(&upload, 2) }
    }
}
