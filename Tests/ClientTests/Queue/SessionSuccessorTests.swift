import Foundation
import Testing
import Workouts

@testable import Client

/// The successor of a session.
@Suite struct SessionSuccessorTests {
    @Test func `a session's successor is the same in every version`() {
        let session = SessionID("0b7e1a5c-2222-4333-8444-123456789abc")
        #expect(session?.successor == SessionID("fd8c1603-d935-8c09-a56b-0e62167dc736"))
    }

    @Test func `no two sessions share a successor, and none returns`() {
        var seen: Set<SessionID> = []
        for first in UInt8.min...UInt8.max {
            var session = SessionID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, first)))
            for _ in 0..<20 {
                #expect(seen.insert(session).inserted)
                session = session.successor
                let bytes = session.uuid.uuid
                #expect(bytes.6 >> 4 == 8)
                #expect(bytes.8 >> 6 == 0b10)
            }
        }
    }
}
