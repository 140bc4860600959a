import Crypto
import Foundation
import Workouts

/// The session of one workout of a file. Its id follows from the user and the content, so that the same file is logged
/// once, and it has no other initializer: importer logs no session that it did not derive itself.
struct ImportedSession: Hashable {
    let key: SessionKey

    /// - Parameters:
    ///   - fingerprint: of the unpacked content.
    ///   - index: the position of the workout in the file, from 0.
    ///   - generation: counts how often the user deleted the workout and imported it again.
    init(user: User, fingerprint: String, index: Int, generation: Int) {
        key = SessionKey(user, SessionID(Self.uuid("\(user)/\(fingerprint)/\(index)/\(generation)")))
    }

    /// The id of the session's command at a position: the same each time that the file is read.
    func command(_ index: Int) -> CommandID { CommandID(Self.uuid("\(key)/\(index)")) }

    /// The namespace of importer's names.
    private static let namespace = UUID(uuidString: "4d3c9c6e-5a0f-5d0e-9b57-2f6c1f0a7be1")!

    /// A UUID of version 5 (RFC 9562).
    private static func uuid(_ name: String) -> UUID {
        var hash = Insecure.SHA1()
        withUnsafeBytes(of: namespace.uuid) { hash.update(bufferPointer: $0) }
        hash.update(data: Data(name.utf8))
        var bytes = Array(hash.finalize().prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x50
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
