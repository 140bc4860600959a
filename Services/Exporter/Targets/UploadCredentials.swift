import Foundation
import MQTT
import ServiceKit
import Workouts

/// The users' credentials for uploads: a folder with one file for each user.
///
/// Every upload reads its file, so changes take effect at once.
struct UploadCredentials: Sendable {
    enum Problem: Error, Equatable {
        /// The file stays unusable until it changes.
        case unusable(String)
        /// A later attempt may succeed.
        case unreadable(String)
    }

    let folder: String

    /// Returns whether the user has a file.
    func has(_ user: User) -> Bool {
        access(path(of: user), F_OK) == 0
    }

    /// The value of the header `Authorization`.
    ///
    /// - Throws: `Problem`, whose text never quotes the file.
    func authorization(of user: User) throws(Problem) -> Secret {
        let line = try read(user)
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        switch words.first?.lowercased() {
        case "bearer" where words.count == 2 && words[1].utf8.allSatisfy { (0x21...0x7e).contains($0) }:
            return Secret("Bearer \(words[1])")
        case "basic" where words.count == 2 && words[1].contains(":"):
            return Secret("Basic \(Data(words[1].utf8).base64EncodedString())")
        default:
            throw .unusable(
                "invalid credentials of '\(user)'; expected one line 'bearer TOKEN' or 'basic NAME:PASSWORD'")
        }
    }

    /// The only line of a user's file; empty if there are several.
    private func read(_ user: User) throws(Problem) -> String {
        do throws(PasswordFile.Problem) {
            let text = try PasswordFile(path: path(of: user)).read()
            return text.value.contains(where: \.isNewline) ? "" : text.value
        } catch {
            switch error {
            case .unreadable where has(user): throw .unreadable("unreadable credentials of '\(user)': \(error)")
            case .unreadable: throw .unusable("no credentials of '\(user)'")
            case .readableByOthers, .empty: throw .unusable("invalid credentials of '\(user)': \(error)")
            }
        }
    }

    private func path(of user: User) -> String {
        "\(folder)/\(user)"
    }
}
