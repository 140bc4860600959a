import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

@Suite struct RepeatedRequestTests {
    struct Case: Decodable, CustomTestStringConvertible {
        struct Event: Decodable {
            enum Kind: String, Decodable { case connect, disconnect, reply }

            let at: Double
            let type: Kind
            let delay: Double?
            let error: Refusal?
        }

        let name: String
        let passing: Set<String>?
        let events: [Event]
        let until: Double?
        let sent: [Double]
        let answers: [String]?

        var testDescription: String { name }
    }

    static let cases: [Case] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Shared/Bus/examples/repeated-requests.json")
        do {
            return try JSONDecoder().decode([Case].self, from: Data(contentsOf: file))
        } catch {
            fatalError("\(file.path): \(error)")
        }
    }()

    @Test(arguments: cases) func `a request is sent at the times of its case`(example: Case) {
        let start = Moment(Timestamp(seconds: 1_700_000_000))
        var request = RepeatedRequest(passingCodes: example.passing ?? [])
        var events = example.events[...]
        var sent: [Double] = []
        var answers: [String] = []
        for time in stride(from: 0, through: example.until ?? 30, by: 0.5) {
            let now = start + time
            while let event = events.first, event.at <= time {
                events.removeFirst()
                switch event.type {
                case .connect: request.connect(sendingFrom: event.delay.map { now + $0 })
                case .disconnect: request.disconnect()
                case .reply:
                    let answer =
                        switch request.receiveReply(event.error, now) {
                        case .accepted: "accepted"
                        case .postponed: "postponed"
                        case .refused: "refused"
                        }
                    answers.append(answer)
                }
            }
            if request.takeTurn(now) { sent.append(time) }
        }
        #expect(sent == example.sent)
        #expect(answers == example.answers ?? [])
    }
}
